#!/bin/bash
# How far tolerances are from right and wrong submissions: the report, on a small task; that each task's probes fail and
# its honest ones pass; and that the reports in results/tolerance are of the tasks as they are.
. "$(dirname "$0")/lib.sh"
# shellcheck source=fake.sh
. "$D2K_ROOT/tests/fake.sh"
t_dir
needs_sandbox
project=$D2K_ROOT
export D2K_PYTHON=${D2K_PYTHON:-$project/.venv/bin/python3}
"$D2K_PYTHON" -c 'import triton' 2>err || skip_all 'no Triton here'

# the pipeline's manners
pipeline=$project/pipelines/tolerance
run "$pipeline" --help
exits 0 'help'
like "$(head -n 1 out)" '^example: pipelines/tolerance' 'begins with an example'
for wrong in --nonsense --seeds '' 'a b'; do
	# shellcheck disable=SC2086
	run "$pipeline" $wrong
	exits 2 "misuse: ${wrong:-no task}"
done
run "$pipeline" no-such-task
exits 1 'an unknown task'

# as_built: records as d2k-build would leave them, for the interpreter
as_built() {
	local line

	while IFS= read -r line; do
		jq -c --arg sha "$(jq -j .agent.submission <<<"$line" | sha256sum | cut -d' ' -f1)" \
			'.build = {status: "ok", source_sha256: $sha}' <<<"$line"
	done
}

# The tasks themselves, on one seed. All at once would be slower: the interpreter has all cores.
for dir in "$project"/tasks/*/; do
	[ -f "$dir/task.json" ] || continue
	task=$(basename "$dir") report=$project/results/tolerance/$(basename "$dir").jsonl
	"$pipeline" --records "$task" >records
	as_built <records >built
	ok test "$(jq -s 'map(select(.honest == false)) | length' records)" -ge 4 -- "$task: at least four wrong submissions"
	ok test "$(jq -s 'map(select(.honest)) | length' records)" -ge 3 -- "$task: baseline, expert, and another right one"
	d2k-time --device cpu --seeds 1 --hang 60 --calibrate-tolerance "$task" built >"$task.jsonl" 2>err
	is "$(jq -r 'select(.who) | select(.trouble or (.margin != null and .margin <= 1)) | "\(.who): \(.margin) \(.trouble)"' "$task.jsonl")" '' \
		"$task: what is right passes, what is wrong fails"
	is "$(jq -s 'map(select(.who)) | length' "$task.jsonl")" "$(wc -l <records)" "$task: all of them"

	versions='[select(.task) | .task_hash, .oracle_hash, .workloads_hash] + [select(.who) | .who, .honest, .source_sha256] | map(tostring) | join(" ")'
	is "$(jq -r "$versions" "$report")" "$(jq -r "$versions" "$task.jsonl")" "$task: the report kept is of the task as it is (make tolerance)"
	is "$(jq -c 'select(.task) | [.ok, .device, .tier, (.seeds | length)]' "$report")" '[true,"cpu-interpreter","smoke",20]' "$task: and says ok"
	is "$(jq -c 'select(.ok != true or (.margin != null and .margin < 2))' "$report")" '' "$task: all of it"
done

# A small task, y is twice x and rfe at most 1e-6, on a GPU that is not there.
time_root
fake_gpu
declare -A factor=([exact]=factor [near]='factor * 1.0000003f' [nearer]='factor * 1.0000008f' [far]='factor * 1.00001f'
	[farther]='factor * 1.0000016f' [tail]='(i < 999 ? factor : 1)')
for name in "${!factor[@]}"; do
	fake_kernel "$name" 5000 "EACH y[i] = x[i] * (${factor[$name]});"
done
fake_kernel ends 5000 'launch->fault = 700;'
entry() { # NAME HONEST
	fake_record "$1" | jq -c --arg id "$1" --argjson honest "$2" '.id = $id | .honest = $honest'
}
report() { run d2k-time --tier smoke --seeds 3 --calibrate-tolerance twice "$@"; }
said() { jq -r "select(.who == \"$1\") | $2" out; }
{ entry exact true; entry near true; entry far false; } >records
report records
exits 0 'right ones near, wrong ones far'
is "$(grep -v "measuring what the GPU" err)" "" "nothing else is said"
is "$(head -n 1 out | jq -c '[.task, .ok, .tier, (.device | length > 3), (.seeds | length), .task_hash]')" \
	"[\"twice\",true,\"smoke\",true,3,\"$(sha256sum <root/tasks/twice/task.json | cut -c1-64)\"]" 'the head'
is "$(jq -c 'select(.measure and (.who | not)) | [.output, .measure, .limit == 1e-6, .honest.who, .wrong.who, .ok]' out)" \
	'["y","rfe",true,"near","far",true]' 'the condition, with who comes nearest from either side'
is "$(said exact '.value < 1e-7')" true 'rounding alone'
like "$(said near .margin)" '^[23]\.' 'a third of the limit: about 3'
like "$(said far .margin)" '^(9\.[89]|10)' 'ten times the limit: about 10'
is "$(said far '.workloads | keys | join(" ")')" 'odd small' 'on each workload'
run d2k-time --seeds 3 --calibrate-tolerance twice records
is "$(head -n 1 out | jq -c .tier) $(said far '.workloads | keys | join(" ")')" '"bench" large' 'on a GPU the tier is bench'
{ entry exact true; entry nearer true; entry farther false; } >records
report records
exits 1 'both too near'
is "$(jq -c 'select(.who) | [.who, .ok]' out | xargs)" '[exact,true] [nearer,false] [farther,false]' 'it is said which'
is "$(head -n 1 out | jq .ok)" false 'and in all'

# a mistake that matters on one workload only, of 1000 elements
{ entry exact true; entry tail false; } >records
report records
exits 0 'wrong on one workload'
is "$(said tail '"\(.workload) \(.workloads.odd < 1)"')" 'small true' 'which counts'

# what tells nothing
{ entry exact true; entry far false; entry ends false; } >records
report records
exits 1 'a kernel that faults'
like "$(said ends .trouble)" '^small, seed 0x0*1: kernel ' 'is in trouble, not wrong'
is "$(said far .ok)" true 'which does not touch the others'
entry exact true >records
report records
exits 1 'nothing wrong among them'
for edit in 'del(.honest)' '.honest = "yes"' '.task = "thrice"' 'del(.id)'; do
	{ cat records; entry far false | jq -c "$edit"; entry far false; } >edited
	report edited
	exits 1 "a record with $edit"
	is "$(grep -vc "measuring what the GPU" err)" 1 "is reported"
	is "$(jq -s 'map(select(.who)) | length' out)" 2 'and left out'
done
jq -c '.build = {status: "compile_error"}' records >unbuilt
report unbuilt
is "$(said exact .trouble)" compile_error 'one that does not build'
run d2k-time --device 99 --calibrate-tolerance twice records
exits 75 'no GPU'
is "$(cat out)" '' 'no report'
run d2k-time --profile --calibrate-tolerance twice records
exits 2 'nothing else at the same time'
t_done
