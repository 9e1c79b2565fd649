# shellcheck shell=bash
# What the tests/agent*.t share: a small project of one task, trials, scripts, a local server, and a pipeline that
# stands in for d2k-build | d2k-time. It answers by words in the submission: SYNTAX, WRONG, AWAY, BROKEN, SLOW (seconds),
# anything else is correct. Sourced after lib.sh and t_dir.
tests=$D2K_ROOT/tests
root=$PWD/root
mkdir -p "$root"/{tasks/mini,guidance,workloads,pipelines} scripts
ln -s "$D2K_ROOT/tools" "$root/tools"
cat >"$root/tasks/mini/task.json" <<'END'
{"version":1,"name":"mini","title":"y = x","dims":["N"],"params":[],
 "tensors":[{"name":"x","role":"in","dtype":"float32","shape":["N"]},
            {"name":"y","role":"out","dtype":"float32","shape":["N"],"check":[{"metric":"rfe","max":1e-4}]}],
 "temps":[],"generate":[{"stage":"make_x","count":"N"}],"oracle":[{"stage":"copy","count":"N"}],
 "bytes":"8*N","flops":"N","flop_unit":"fp32","source":"a test"}
END
echo 'Copy x to y.' >"$root/tasks/mini/task.md"
echo 'STAGE(make_x) { } STAGE(copy) { }' >"$root/tasks/mini/oracle.c"
echo '{"id":"w1","tier":"bench","dims":{"N":8},"params":{},"origin":"a test"}' >"$root/workloads/mini.jsonl"
for level in 1 2 3; do
	printf '{"id":"L%d.1","level":"L%d","text":"t","property":"p","requires":[],"weight":1,"evidence":"e",%s}\n' \
		$level $level '"truth":{"baseline":"no","expert":"yes"}'
done | jq -cs '{version: 1, task: "mini", items: .}' >"$root/guidance/mini.json"
echo '{"version":1,"models":{}}' >"$root/pipelines/models.json"

export D2K_PYTHON=$D2K_ROOT/.venv/bin/python3
export D2K_ROOT=$root TEST_EVALUATIONS=$PWD/evaluations
: >"$TEST_EVALUATIONS"

cat >evaluate <<'END'
#!/bin/bash
read -r record
jq -r .agent.submission <<<"$record" >"$TEST_EVALUATIONS.last"
printf '%s\n' "$record" >>"$TEST_EVALUATIONS"
env >"$TEST_EVALUATIONS.env"
case $(<"$TEST_EVALUATIONS.last") in
*SYNTAX*) add='.build = {status: "syntax_error", log: "line 3: what is this?"}' ;;
*AWAY*) printf '%s\n' "$record"; exit 75 ;;
*BROKEN*) echo 'evaluator: no disk' >&2; exit 1 ;;
*SLOW*) sleep 30; add=. ;;
*WRONG*) add='.build = {status: "ok"} | .time = {status: "wrong", reason: "1 of 1 workloads wrong", comparable: true,
	workloads: [{id: "w1", status: "wrong", message: "output y: rfe 0.5 (at most 0.0001); at [3] expected 2, got 1", outputs: [{name: "y",
	metrics: [{metric: "rfe", value: 0.5, limit: 0.0001, ok: false}], wrong: 7, nonfinite: 0,
	worst: {index: [3], expected: 2, got: 1}}]}]}' ;;
*) add='.build = {status: "ok", kernels: [{name: "k", registers: 40, spills_bytes: 0, stack_bytes: null, shared_bytes: 1024,
	num_warps: 4, num_ctas: 1, launches: 2, variants: 1, grids: [[8, 1, 1]]}], plans: [{workload: "w1", launches: 2,
	fills: 1, scratch_bytes: 64}]} | .time = {status: "correct", reason: null, comparable: true, speedup: 1.25,
	workloads: [{id: "w1", status: "correct", message: null, outputs: [{name: "y", metrics: [{metric: "rfe", value: 1e-5,
	limit: 0.0001, ok: true}], wrong: null, nonfinite: 0}], ns: {candidate: 1600, baseline: 2000, expert: 1000},
	speedup: 1.25, vs_expert: 0.625, roofline: 0.5}]}' ;;
esac
jq -c "$add" <<<"$record"
END
chmod +x evaluate
evaluator=$PWD/evaluate

# trial ARM TURNS MODEL: one trial on stdout
trial() { d2k-prompt --task mini --arm "$1" --turns "$2" --model "$3"; }
# replies NAME: stdin becomes a script; its model's name is script:$PWD/scripts/NAME
replies() { cat >"scripts/$1"; }
# agent ARG...: the program under test
agent() { d2k-agent --check "$evaluator" "$@"; }
# play NAME [ARM [TURNS [ARG...]]]: a trial with that script, afresh; record in ./out
play() {
	local name=$1 arm=${2:-without} turns=${3:-20}
	shift $(($# < 3 ? $# : 3))
	trial "$arm" "$turns" "script:$PWD/scripts/$name" >"trial.$name"
	rm -rf "runs/$(jq -r .id "trial.$name")"
	run agent "$@" "trial.$name"
	log=runs/$(jq -r .id "trial.$name")/transcript.jsonl
}
# field FILTER: of the record's section
field() { jq -r ".agent$1" out; }
# answers: what the model was told after each call, one JSON string a line
answers() { jq -c 'select(.event == "result") | .text' "$log"; }

# serve [--by-turn]: starts the server on ./replies, log in ./requests; its model is "local", with key variable TEST_KEY
# shellcheck disable=SC2120 # mostly called without
serve() {
	rm -f port requests
	python3 "$tests/chat_server.py" "$@" replies requests port 2>server.err &
	server=$!
	for _ in {1..500}; do
		[ ! -s port ] || break
		sleep 0.02
	done
	jq -n --arg url "http://127.0.0.1:$(<port)/v1/" '{version: 1, models: {local: {wire: "chat", base_url: $url,
		model: "test-model", key_env: "TEST_KEY", parameters: {temperature: 0.5}, max_tokens: 1000,
		max_tokens_field: "max_completion_tokens", context: 100000,
		prices: {fresh_in: 2, cache_read: 0.5, cache_write: 0, out: 10}}}}' >models.json
}
unserve() { kill "$server" && wait "$server" 2>/dev/null; }
# ask [ARG...]: a trial with the model "local" against ./replies, afresh
ask() {
	serve
	trial without 20 local >trial.local
	rm -rf "runs/$(jq -r .id trial.local)"
	run agent --models models.json "$@" trial.local
	unserve
	log=runs/$(jq -r .id trial.local)/transcript.jsonl
}
