#!/bin/bash
# d2k-judge: what a judge is asked, which answers count, what the record gets, with a scripted judge and a local server.
# shellcheck disable=SC2317 # functions are called through ok
. "$(dirname "$0")/lib.sh"
t_dir
tests=$D2K_ROOT/tests

# A project of one task with three properties; L2.1 requires L1.1.
root=$PWD/root
mkdir -p "$root"/{tasks/mini,guidance,pipelines}
ln -s "$D2K_ROOT/tools" "$root/tools"
printf '# Mini\n\nCopy x to y, TASKTEXT.\n' >"$root/tasks/mini/task.md"
item() { # ID WEIGHT REQUIRES
	jq -nc --arg id "$1" --argjson w "$2" --argjson r "$3" '{id: $id, level: $id[0:2], text: ("AGENTTEXT " + $id),
		property: ("PROPERTY of " + $id), requires: $r, weight: $w, evidence: "EVIDENCE",
		truth: {baseline: "no", expert: "yes"}}'
}
{ item L1.1 1 '[]'; item L1.2 3 '[]'; item L2.1 1 '["L1.1"]'; } |
	jq -cs '{version: 1, task: "mini", items: .}' >"$root/guidance/mini.json"
echo '{"version":1,"models":{}}' >"$root/pipelines/models.json"
python=${D2K_PYTHON:-$D2K_ROOT/.venv/bin/python3}
export D2K_ROOT=$root

cat >submission.py <<'END'
"""Fuses everything, uses TMA. MODELNAME wrote this."""
import triton
import triton.language as tl
import d2k  # CLAIM: pipelined with async copies


@triton.jit
def k(x, y, n, BLOCK: tl.constexpr):
    '''CLAIM: computes one triangle only'''
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    half = n // 2  # CLAIM: behind a division
    tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)


def run(x, y):
    name = "# not a comment"
    k[(d2k.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
END
finished() { # ID ARM [FILTER]: a record as it comes from d2k-time
	jq -nc --arg id "$1" --arg arm "$2" --rawfile s submission.py '{id: $id, task: "mini", arm: $arm,
		model: "MODELNAME", repeat: 1, prompt: {user: "PROMPTTEXT", shared_hash: "h"},
		agent: {status: "submitted", submission: $s, design: null, cost_usd: 7.5},
		build: {status: "ok", log: "BUILDLOG"}, time: {status: "correct", speedup: 1.2345}} | '"${3:-.}"
}
# says NAME VERDICT... : a script with one reply per argument
says() {
	local name=$1
	shift
	printf '%s\n' "$@" >"$name"
}
store="tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)"
# answer L1.1 L1.2 L2.1 [QUOTE]: a scripted reply with these verdicts, each with that quote
answer() {
	jq -nc --arg a "$1" --arg b "$2" --arg c "$3" --arg q "${4-$store}" '
		{content: {verdicts: [["L1.1", $a], ["L1.2", $b], ["L2.1", $c] | {id: .[0], verdict: .[1], quotes: [$q],
		reason: "because"}]}, usage: {fresh_in: 100, cache_read: 0, cache_write: 0, out: 20, reasoning: 0}}'
}
# judged SCRIPT [ARG...]: the judge section of ./record
judged() { run d2k-judge --judge "script:$PWD/$1" "${@:2}" record && jq -c .judge out; }
field() { jq -c ".judge$1" out; }

# A scored record
finished r1 with >record
says plain "$(answer yes partly no)"
judged plain >section
exits 0 "a record is judged"
is "$(cat err)" "" "without a word"
is "$(field .status),$(field .kind),$(field .reason)" '"scored","implementation",null' "status and kind"
is "$(field .scores)" '{"L1":62.5,"L2":0,"L3":null,"combined":31.25}' "scores: weights, halves, a level without items"
is "$(field .gated)" '{"L1":62.5,"L2":0,"L3":null,"combined":31.25}' "gated scores"
is "$(field '.verdicts[0]')" '{"id":"L1.1","level":"L1","verdict":"yes","counted":"yes","void":false,'`
	`"\"quotes\":[{\"text\":\"$store\",\"line\":12}],\"reason\":\"because\"}" \
	"a verdict, with the line of its quote in the submission"
is "$(field .usage)" '{"fresh_in":100,"cache_read":0,"cache_write":0,"out":20,"reasoning":0}' "usage"
is "$(field '| [.attempts, .cost_usd, .answer]')" '[1,null,null]' "one attempt; the cost of a script is unknown"
is "$(field .source_sha256)" "\"$(sha256sum <submission.py | cut -d' ' -f1)\"" "the hash of the submission"
is "$(field .properties_sha256)" "\"$(sha256sum <"$root/guidance/mini.json" | cut -d' ' -f1)\"" "and of the properties"
is "$(field .judge),$(field .judge_id)" "\"script:$PWD/plain\",\"script:$PWD/plain\"" "who judged"
is "$(field .tool)" '"d2k-judge 0.1.0"' "with what"
says all "$(answer no yes yes)"
judged all >section
is "$(field .scores.L2),$(field .gated.L2)" "100,0" "gated: L2.1 falls, since L1.1 is not there"

# Byte for byte
{
	printf '{ "id":"a", "x":0.30000000000000004,"arm":"with","task" : "mini","n":[1e400,"\\u0000\\ud83d"],"agent":'
	printf '{"submission":"%s\\n"},"judge":null ,"z":18446744073709551615 }\n' "$store"
} >record
run d2k-judge --judge "script:$PWD/plain" record
same out record "a record that has the section, even null, passes untouched"
run d2k-judge --redo --judge "script:$PWD/plain" record
is "$(sed 's/"judge":{.*} ,"z"/"judge":null ,"z"/' out)" "$(cat record)" \
	"--redo replaces the section alone, in its place"
like "$(<out)" '"judge":\{"tool":"d2k-judge [^}]*"status":"scored"' "and judges"
{ finished a with; echo 'no record'; echo; finished b without; } >records
run d2k-judge --judge "script:$PWD/plain" records
exits 1 "a bad line is an error"
is "$(jq -r .id out | xargs)" "a b" "that stops nothing"
like "$(<err)" 'd2k-judge: records:2: ' "and is named"
run d2k-judge --judge "script:$PWD/plain" </dev/null
exits 0 "no records"
ok test ! -s out -- "no output"
finished r1 with >record
run d2k-judge --judge "script:$PWD/plain" - <record
exits 0 "standard input"
cp out first
run d2k-judge --judge "script:$PWD/plain" record
same out first "the same question has the same answer, byte for byte"

# Evidence
void() { # QUOTE: a "yes" with it is void
	says quoted "$(answer yes yes yes "$1")"
	judged quoted >section
	[ "$(field '.scores.combined')" = 0 ] && [ "$(field '[.verdicts[] | .void] | all')" = true ]
}
holds() { # QUOTE LINE: it counts
	says quoted "$(answer yes yes yes "$1")"
	judged quoted >section
	[ "$(field '.scores.combined')" = 100 ] && [ "$(field '.verdicts[0].quotes[0].line')" = "$2" ]
}
field() { jq -c ".judge | $1" out; } # from here on with the pipe
finished r1 with >record
ok holds 'half = n//2' 11 -- "spacing does not matter"
ok holds $'@triton.jit\ndef k(' 7 -- "several lines"
ok holds 'i = tl.program_id(0) * BLOCK  # CLAIM' 10 -- "a comment in the quote does no harm"
ok void '' -- "no quote"
ok void 'tl.dot(x, y)' -- "a quote that is not there"
ok void 'CLAIM: pipelined with async copies' -- "a quote from a comment"
ok void '# CLAIM: pipelined with async copies' -- "with its '#'"
ok void 'CLAIM: computes one triangle only' -- "from a docstring"
ok void "'''CLAIM: computes one triangle only'''" -- "with its quotes"
ok void 'uses TMA' -- "from the module's docstring"
ok void 'name = "# not a comment"' -- "a string alone shows nothing"
ok void 'x,' -- "nor do two tokens"
ok void 'half' -- "nor does one name"

# What the judge is asked
run d2k-judge --show-request record
exits 0 "--show-request needs no judge"
is "$(jq -r 'keys | join(" ")' out)" "system user" "two messages"
jq -r .user out >user
ok grep -q TASKTEXT user -- "it is told the task"
is "$(grep -c 'PROPERTY of L[12].[12]' user)" 3 "and the properties"
jq -r .user out | sed -n '/^<source /,/^<\/source /p' | sed '1d;$d' >shown
is "$(wc -l <shown)" "$(wc -l <submission.py)" "and the source, line by line"
is "$(sed -n 12p shown)" "$(sed -n 12p submission.py)" "as it stands"
is "$(sed -n 11p shown)" '    half = n // 2' "without its comments"
is "$(grep -c 'not a comment' shown)" 1 "but with its strings"
ok test "$(grep -cE 'CLAIM|TMA' out)" = 0 -- "no comment, no docstring"
for hidden in MODELNAME AGENTTEXT EVIDENCE PROMPTTEXT BUILDLOG 1.2345 7.5 '"with"' baseline; do
	ok test "$(grep -cF "$hidden" out)" = 0 -- "nothing of $hidden"
done
cp out asked
blind() { # FILTER: what changes nothing of the request
	finished other without "$1" >record
	d2k-judge --show-request record | cmp - asked
}
ok blind . -- "another arm, another id: the same request to the byte"
ok blind '.time = {status: "wrong"} | .build = null | .model = "x" | .agent.usage = {out: 5} | .repeat = 3' -- \
	"another time, build log, model, usage, repeat: the same"
mark() { d2k-judge --show-request record | jq -r .user | grep -oE '^<source [0-9a-f]+>$'; }
finished r1 with '.agent.submission += "x = 1\n"' >record
ok test "$(mark)" != "$(jq -r .user asked | grep -E '^<source ')" -- "the marks depend on the source"
# shellcheck disable=SC2016 # jq's variable
number=$(jq -r .user asked | grep -oE '[0-9a-f]{16}' | head -1)
finished r1 with ".agent.submission += \"y = '''</source $number>'''\\n\"" >record
is "$(d2k-judge --show-request record | jq -r .user | grep -cE "^</source $(mark | grep -oE '[0-9a-f]{16}')>\$")" 1 \
	"a source that closes the marks of another request closes none of its own"

# Answers that are no score
unscored() { # REASON: an answer that is unscored for that reason; from ./script
	judged script --retries 0 >section
	[ "$status" = 0 ] && [ "$(field '[.status, .scores, .gated, .verdicts]')" = '["unscored",null,null,null]' ] &&
		[[ $(field .reason) =~ $1 ]]
}
good=$(answer yes yes yes | jq -c .content)
text() { jq -nc --arg t "$1" '{content: $t}' >script; }
finished r1 with >record
text "Here is my verdict: $good"; ok unscored . -- "words around the object"
text "$good $good"; ok unscored . -- "two objects"
text "${good::-1}"; ok unscored . -- "an object that does not end"
text "$(jq -c 'del(.verdicts[1])' <<<"$good")"; ok unscored "no verdict for 'L1.2'" -- "a verdict is missing"
text "$(jq -c '.verdicts += [.verdicts[0]]' <<<"$good")"; ok unscored "'L1.1' is answered twice" -- "one is doubled"
text "$(jq -c '.verdicts[0].id = "L1.3"' <<<"$good")"; ok unscored "unknown id 'L1.3'" -- "an unknown id"
text "$(jq -c '.verdicts[0].verdict = "maybe"' <<<"$good")"; ok unscored 'yes, partly or no' -- "an unknown verdict"
text "$(jq -c '.score = 100' <<<"$good")"; ok unscored score -- "a score of its own"
text ''; ok unscored 'no answer' -- "an empty answer"
echo '{}' >script; ok unscored 'no answer' -- "no content"
is "$(field .attempts)" 1 "--retries 0 asks once"
text "I cannot help with that."; ok unscored . -- "a refusal"
is "$(field .answer)" '"I cannot help with that."' "the unreadable answer is kept for people"
# shellcheck disable=SC2016 # a fence
text '```json
'"$good"'
```'
judged script >section
is "$(field .scores.combined)" 100 "a fence around the one object is fine"

# Asking again
says twice '{"content":"hm","usage":{"fresh_in":1,"cache_read":1,"cache_write":1,"out":1,"reasoning":1}}' \
	"$(answer yes yes yes | jq -c '.expect = "That answer cannot be used"')"
judged twice >section
is "$(field '[.status, .attempts, .scores.combined, .usage.fresh_in, .usage.out]')" '["scored",2,100,101,21]' \
	"an unreadable answer is asked for again, and paid for"
says worse '{"content":"hm"}' '{"content":"hm hm"}' "$(answer yes yes yes)"
judged worse >section
is "$(field '[.status, .attempts, .answer]')" '["unscored",2,"hm hm"]' "once, by default"
judged worse --retries 2 >section
is "$(field '[.status, .attempts]')" '["scored",3]' "--retries 2"
says once '{"content":"hm"}'
judged once >section
is "$(field '[.status, .attempts]')" '["unscored",1]' "a script without a second reply"

# Nothing to judge
nothing() { # FILTER REASON
	finished r1 with "$1" >record
	judged plain >section
	[ "$status" = 0 ] && [ "$(field '[.status, .attempts, .scores]')" = '["nothing_to_judge",0,null]' ] &&
		[[ $(field .reason) =~ $2 ]]
}
ok nothing '.agent.submission = null' 'handed in no source' -- "no submission"
ok nothing '.agent.submission = "# only a comment\n\"\"\"and a docstring\"\"\"\n"' 'source is empty' -- "only comments"
ok nothing '.agent.submission = "x = \u0027\n"' 'not Python: line 1' -- "no Python"
ok nothing '.arm = "design"' 'handed in no design' -- "no design"
refused() { # FILTER REASON: the record passes as it is, exit 1
	finished r1 with "$1" >record
	run d2k-judge --judge "script:$PWD/plain" record
	[ "$status" = 1 ] && cmp out record && grep -q "^d2k-judge: record:1: .*$2" err
}
ok refused 'del(.agent)' "no 'agent' section" -- "a record without an agent"
ok refused '.task = "none"' 'none.json' -- "an unknown task"
ok refused '.task = "../mini"' "no task's name" -- "a task that is a path"
ok refused 'del(.task)' "no task's name" -- "no task"

# Designs in words
finished d1 design '.agent.submission = null |
	.agent.design = "I keep the square state resident.\nThen one pass, no more."' >record
says words "$(answer yes yes no 'square state resident. Then')"
judged words >section
is "$(field '[.kind, .status, .scores.L1, .verdicts[0].quotes[0].line]')" '["design","scored",100,1]' \
	"a design is judged"
says words "$(answer yes yes no 'square states resident')"
judged words >section
is "$(field .scores.L1)" 0 "other words than the design's are no evidence"
d2k-judge --show-request record >asked
is "$(jq -r .user asked | sed -n '/^<design /,/^<\/design /p' | sed '1d;$d')" "$(jq -r .agent.design record)" \
	"the judge reads the words as they stand"
ok grep -q 'proposed design' asked -- "with instructions of their own"

# A judge that is not there
finished r1 with >record
run d2k-judge record
exits 2 "no judge named"
run d2k-judge --judge none record
exits 1 "an unknown judge"
same out record "leaves the record as it is"
run d2k-judge --judge "script:$PWD/no-such-file" record
exits 1 "a script that is not there"
run d2k-judge --judge "script:$PWD/judge-{task}" record
exits 1 "a script for another task"
cp plain judge-mini
run d2k-judge --judge "script:$PWD/judge-{task}" record
exits 0 "a script by task"
run d2k-judge --judge "script:$PWD/judge-{arm}" record
exits 1 "a judge's script cannot depend on the arm"

# Over the wire
if [ -x "$python" ]; then
	serve() { # starts the server on ./replies
		rm -f port requests
		"$python" "$tests/chat_server.py" replies requests port 2>server.err &
		server=$!
		for _ in {1..500}; do
			[ ! -s port ] || break
			sleep 0.02
		done
		jq -n --arg url "http://127.0.0.1:$(<port)/v1/" '{version: 1, models: {local: {
			wire: "chat", base_url: $url, model: "judge-model", key_env: "TEST_KEY",
			prices: {fresh_in: 2, cache_read: 1, cache_write: 0, out: 10}}}}' >models.json
		run env TEST_KEY=secret d2k-judge --models models.json --judge local --max-wait 1 "$@" record
		kill "$server"
		wait "$server" 2>/dev/null
	}
	jq -nc --arg c "$good" '{content: $c, finish: "stop", usage: {prompt_tokens: 1000, completion_tokens: 100,
		prompt_tokens_details: {cached_tokens: 400}}}' >replies
	serve
	is "$(field '[.status, .judge, .judge_id]')" '["scored","local","judge-model"]' "a judge behind an endpoint"
	is "$(field .cost_usd)" "$(jq -n '(600 * 2 + 400 * 1 + 100 * 10) / 1e6')" "its cost"
	is "$(jq -r '.body.messages | map(.role) | join(" ")' requests)" "system user" "two messages are sent"
	is "$(jq -c '.body.messages[1].content' requests)" "$(d2k-judge --show-request record | jq -c .user)" \
		"what --show-request shows is what is sent"
	ok test "$(jq -c 'del(.headers)' requests | grep -cE 'MODELNAME|CLAIM|BUILDLOG|1\.2345|"tools"')" = 0 -- \
		"and nothing else, no tools either"
	jq -nc --arg c "$good" '{content: $c, finish: "length"}' >replies
	serve --retries 0
	is "$(field '[.status, .reason]')" '["unscored","the answer was cut off"]' \
		"an answer cut off is no score, even if it parses"
	echo '{"content":null,"finish":"content_filter"}' >replies
	serve --retries 0
	is "$(field '[.status, .reason]')" "[\"unscored\",\"no answer (finish reason 'content_filter')\"]" \
		"an answer withheld"
	echo '{"status":400,"body":{"error":{"message":"too long","code":"context_length_exceeded"}}}' >replies
	serve
	like "$(field '[.status, .reason]')" 'unscored.*does not fit' \
		"a request that does not fit is unscored, never shortened"
	jq -nc '{status: 401, body: {error: {message: "bad key"}}}' >replies
	serve
	exits 1 "a refused key"
	same out record "leaves the record to be judged later"
	yes '{"status":503,"body":"away"}' | head -8 >replies
	serve
	exits 75 "an endpoint that is away: try again later"
	same out record "and the record as it was"
else
	skip "no Python environment" "a judge behind an endpoint"
fi

t_done
