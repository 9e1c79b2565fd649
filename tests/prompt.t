#!/bin/bash
# d2k-prompt: which trials it makes, that the prompts of a pair differ in the guidance alone, and what it refuses.
# shellcheck disable=SC2317 # functions are called through ok
. "$(dirname "$0")/lib.sh"
t_dir

# A small project of its own, so that files can be spoilt: one task, the real texts.
root=$PWD/root
mkdir -p "$root"/{tasks/mini,guidance,workloads,tools}
cp -r "$D2K_ROOT/tools/prompt" "$D2K_ROOT/tools/agent" "$root/tools/"
cat >"$root/tasks/mini/task.json" <<'END'
{"version":1,"name":"mini","title":"y = x","dims":["N"],"params":["eps"],
 "tensors":[{"name":"x","role":"in","dtype":"float32","shape":["2*N"]},
            {"name":"y","role":"out","dtype":"float32","shape":["2*N"],"check":[{"metric":"rfe","max":1e-4}]}],
 "temps":[],"generate":[{"stage":"make_x","count":"2*N"}],"oracle":[{"stage":"copy","count":"2*N"}],
 "bytes":"16*N","flops":"N","flop_unit":"fp32","source":"a test"}
END
echo '# Copy' >"$root/tasks/mini/task.md"
echo 'STAGE(make_x) { } STAGE(copy) { }' >"$root/tasks/mini/oracle.c"
echo '{"id":"w","tier":"bench","dims":{"N":8},"params":{"eps":1e-6},"origin":"a test"}' >"$root/workloads/mini.jsonl"
item() { # ID REQUIRES: one good item
	printf '{"id":"%s","level":"%s","text":"text of %s","property":"p","requires":[%s],"weight":1,"evidence":"e",%s}' \
		"$1" "${1%%.*}" "$1" "$2" '"truth":{"baseline":"no","expert":"yes"}'
}
guidance() { # ITEM...: the guidance file of these
	(IFS=,; printf '{"version":1,"task":"mini","items":[%s]}\n' "$*") >"$root/guidance/mini.json"
}
good_guidance() { guidance "$(item L1.1 '')" "$(item L2.1 '"L1.1"')" "$(item L3.1 '"L2.1","L1.1"')"; }
mini() { D2K_ROOT=$root d2k-prompt "$@"; }
told() { # FILTER ARG...: what jq makes of the trials that mini writes
	local filter=$1
	shift
	mini "$@" >told.jsonl && jq -r "$filter" told.jsonl
}
fails() { # CODE PATTERN ARG...: mini ends with CODE, one line on stderr that has PATTERN, no output
	local code=$1 pattern=$2 got=0
	shift 2
	mini "$@" >fails.out 2>fails.err || got=$?
	[ "$got" = "$code" ] && [ ! -s fails.out ] && [ "$(wc -l <fails.err)" = 1 ] && grep -qF -- "$pattern" fails.err
}
good_guidance

# The real tasks
d2k-prompt >all.jsonl
d2k-prompt --list | cut -f1 | uniq >tasks
ok test -s tasks -- "there are tasks"
is "$(jq -r .task all.jsonl | uniq)" "$(cat tasks)" "without arguments: all tasks"
is "$(jq -r .arm all.jsonl | sort | uniq -c | awk '{ print $1, $2 }' | xargs)" \
	"$(wc -l <tasks) with $(wc -l <tasks) without" "and the arms without and with"
only_guidance_differs() {
	# shellcheck disable=SC2016 # jq's variables
	local trial='select(.task == $t and .arm == $a)' arm
	for arm in without with; do
		jq -rj --arg t "$1" --arg a "$arm" "$trial | .prompt.user" all.jsonl >"$arm.user"
		jq -S --arg t "$1" --arg a "$arm" "$trial | .prompt | del(.user, .guidance)" all.jsonl >"$arm.rest"
	done
	diff without.user with.user >pair.diff
	cmp without.rest with.rest && [ "$(grep -c '^[0-9]' pair.diff)" = 1 ] && ! grep -q '^<' pair.diff &&
		grep '^>' pair.diff | head -1 | grep -qx '> ## Design guidance'
}
while IFS= read -r task; do
	ok only_guidance_differs "$task" -- "$task: the pair differs in one block, the guidance"
	is "$(jq -r --arg t "$task" 'select(.task == $t) | .prompt.missing | length' all.jsonl | xargs)" "0 0" \
		"$task: the whole guidance lacks nothing"
done <tasks

# Which trials
mini --arm without --arm with --arm L1 --arm L1+L2 --arm design >arms.jsonl 2>arms.err
is "$(jq -r '"\(.arm) \(.levels | join("+"))"' arms.jsonl | xargs)" \
	"without with L1+L2+L3 L1 L1 L1+L2 L1+L2 design" "arms and their levels"
is "$(jq -r 'select(.arm == "L1") | .prompt.user' arms.jsonl | grep -o 'text of L[123].1' | xargs)" "text of L1.1" \
	"arm L1 gives the items of L1 alone"
is "$(jq -r '.prompt.shared_hash' arms.jsonl | sort -u | wc -l)" 1 "all arms share their hashes"
is "$(jq -r .id arms.jsonl | sort -u | grep -cxE '[0-9a-f]{16}')" 5 "ids are 16 hex digits, all different"
is "$(jq -c 'select(.arm == "without" or .arm == "design") | .prompt.guidance' arms.jsonl | xargs)" "null null" \
	"no guidance given: no hash of it"
is "$(jq -r 'select(.arm == "with") | .prompt.guidance' arms.jsonl)" \
	"$(sha256sum <"$root/guidance/mini.json" | cut -d' ' -f1)" "guidance given: the hash of the file"
prompt_of() { jq -rj --arg a "$1" 'select(.arm == $a) | .prompt.user' arms.jsonl; }
is "$(prompt_of without | sed '/^## How to work/,$d' | sha256sum)" \
	"$(prompt_of design | sed '/^## What to hand in/,$d' | sha256sum)" "arm design: the same text but for its end"
mini --repeat 2 --repeat 5 --model a --model b >r.jsonl
is "$(jq -r '"\(.arm)\(.model)\(.repeat)"' r.jsonl | xargs)" \
	"withouta2 withouta5 withoutb2 withoutb5 witha2 witha5 withb2 withb5" "--repeat names single repeats"
is "$(told .repeat --repeats 3 --arm with | xargs)" "1 2 3" "--repeats counts"
mini --repeats 3 >again.jsonl
ok cmp again.jsonl <(mini --repeats 3) -- "the same command makes the same bytes"
is "$(told .prompt.user --turns 7 | grep -c 'budget is 7 turns')" 2 "the budget is told"
is "$(told .prompt.shared.target --target sm_100 | uniq)" sm_100 "another target"
is "$(mini --list)" "$(printf 'mini\tw\tbench\tN=8 eps=1e-06\ta test')" "--list"
is "$(told .prompt.user --arm without | grep -c 'def run(x, y, \*, eps):')" 1 "the signature is told"
# shellcheck disable=SC2016 # markdown
tolerance='| `y` | out | float32 | [2*N] | relative Frobenius error at most 0.0001 |'
is "$(told .prompt.user --arm without | grep -cxF "$tolerance")" 1 "the tolerance of task.json is told"

# What moves which hash
ids() { told '"\(.id) \(.prompt.shared_hash)"' --arm without --arm with; }
ids >before
guidance "$(item L1.1 '')"
ids >after
is "$(sed -n 1p before)" "$(sed -n 1p after)" "other guidance: the trial without it is the same"
ok test "$(sed -n 2p before | cut -c1-16)" != "$(sed -n 2p after | cut -c1-16)" -- "and the trial with it another"
good_guidance
changed() { # FILE TEXT: a text added to the file changes both ids and what is shared
	cp "$root/$1" kept
	echo "$2" >>"$root/$1"
	ids >after
	mv kept "$root/$1"
	! grep -qf <(tr ' ' '\n' <before) after
}
ok changed tasks/mini/task.md more -- "another task text changes what is shared"
ok changed tasks/mini/oracle.c '/* */' -- "so does another oracle"
ok changed workloads/mini.jsonl '{"id":"v","tier":"smoke","dims":{"N":1},"params":{"eps":1},"origin":"a test"}' -- \
	"so do other workloads"
ok changed tools/prompt/work.md more -- "so does other text about the tools"
ok changed tools/agent/tools.json ' ' -- "so does the text of the tools"

# Requirements outside the levels
guidance "$(item L1.1 '"L2.1"')" "$(item L2.1 '')"
mini --arm L1 --repeats 2 >missing.jsonl 2>missing.err
is "$(jq -r '.prompt.missing[]' missing.jsonl | uniq)" "L1.1 requires L2.1" "a missing requirement is in the record"
is "$(cat missing.err)" "d2k-prompt: mini, arm L1: L1.1 requires L2.1, which the arm does not give" \
	"and is reported once"
good_guidance

# Wrong command lines
ok fails 2 "unknown task 'none'" --task none -- "unknown task"
ok fails 2 "unknown task '../mini'" --task ../mini -- "a path is no task"
ok fails 2 "unknown arm 'L2'" --arm L2 -- "unknown arm"
ok fails 2 "given twice" --arm with --arm with -- "the same arm twice"
ok fails 2 "--repeat wants a number from 1 to 100000, not '0'" --repeat 0 -- "repeat 0"
ok fails 2 "--repeat wants a whole number, not '1x'" --repeat 1x -- "repeat 1x"
ok fails 2 "--turns" --turns 0 -- "no turns"
ok fails 2 "--target 'sm_90/../x'" --target sm_90/../x -- "a path is no target"
ok fails 2 "--target 'sm_1'" --target sm_1 -- "a target nobody described"
ok fails 2 "unexpected argument 'x'" x -- "an operand"
ok fails 2 "--model" --model '' -- "an empty name"

# Wrong guidance
spoilt() { # PATTERN SED: the guidance changed by SED is refused with PATTERN
	good_guidance
	sed -i "$2" "$root/guidance/mini.json"
	fails 1 "$1" && grep -qF guidance/mini.json fails.err
}
ok spoilt "item 'L1.1' is there twice" \
	's/"id":"L2.1","level":"L2"/"id":"L1.1","level":"L1"/;s/\["L1.1"\]/[]/' -- "an id twice"
ok spoilt "requires 'L1.9', which does not exist" 's/\["L1.1"\]/["L1.9"]/' -- "a requirement that is not there"
ok spoilt "through a circle" 's/"requires":\[\]/"requires":["L3.1"]/' -- "a circle"
ok spoilt "the id must begin with 'L2.'" 's/"level":"L1"/"level":"L2"/' -- "an id of another level"
ok spoilt "'level' must be" 's/"level":"L3"/"level":"L4"/' -- "a fourth level"
ok spoilt "item 'L1.1'" 's/"weight"/"wieght"/' -- "a misspelt key"
ok spoilt "'weight' must be" 's/"weight":1/"weight":0/' -- "no weight"
ok spoilt "'text' must be" 's/"text":"text of L1.1"/"text":""/' -- "no text"
ok spoilt "truth of expert" 's/"expert":"yes"/"expert":"maybe"/' -- "no verdict"
ok spoilt "'task' must be 'mini'" 's/"task":"mini"/"task":"maxi"/' -- "another task's guidance"
ok spoilt "'version' must be 1" 's/"version":1/"version":2/' -- "another version"
ok spoilt "'items' must be" 's/"items":.*/"items":[]}/' -- "no items"
ok spoilt "mini.json" 's/}$//' -- "not JSON"
good_guidance

# Output that cannot be written
status=0
mini >/dev/full 2>err || status=$?
exits 1 "a full disk is an error"
like "$(<err)" "^d2k-prompt: " "with a message"

t_done
