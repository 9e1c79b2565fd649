#!/bin/bash
# What the tasks themselves must keep, and the template that new ones are made of: tests/tasks-check finds nothing in any
# task, and in a copy of the template only what is marked as still to do and what needs a GPU or PyTorch.
. "$(dirname "$0")/lib.sh"
t_scratch
needs_sandbox
export D2K_PYTHON=${D2K_PYTHON:-$D2K_ROOT/.venv/bin/python3}
"$D2K_PYTHON" -c 'import triton' 2>err || skip_all 'no Triton here'
project=$D2K_ROOT
check=$project/tests/tasks-check
export SMOKE_SECONDS=30	# other tests run beside this one

for dir in "$project"/tasks/*/; do
	[ -f "$dir/task.json" ] || continue
	task=$(basename "$dir")
	run "$check" "$task"
	exits 0 "$task: checked"
	is "$(grep -v ': 0 findings$' out)" '' "$task: complete, within its rules, builds for both targets, right on smoke workloads"
done

# a copy of the template
mkdir root
ln -s "$project/tools" root/tools
export D2K_ROOT=$PWD/root
run "$project/tasks/TEMPLATE/copy" Wrong_Name
exits 2 'a name that is none'
run "$project/tasks/TEMPLATE/copy" my-task
exits 0 'a copy of the template'
run "$project/tasks/TEMPLATE/copy" my-task
exits 1 'not a second time'
run "$check"
exits 1 'it is not finished'
ok test "$(grep -c ': still to do' out)" -gt 15 -- 'and says where'
is "$(grep -v ': still to do' out | sed 's/: [0-9]* findings//')" "my-task: results/tolerance/my-task.jsonl: is missing (make tolerance)
my-task: results/reference/my-task.jsonl: is missing (make check-reference)
my-task" 'all else is right but for records'
sed -i 's/TODO: *//; s/TODO/-/' root/{tasks/my-task/*.*,tasks/my-task/*/*,guidance/*,workloads/*}
mkdir -p root/results/{tolerance,reference}
run "$project/pipelines/tolerance" --seeds 2 my-task
exits 0 'its tolerances keep their margins'
cp out root/results/tolerance/my-task.jsonl
for id in few smoke-ragged smoke-wide; do
	echo "{\"workload\": \"$id\", \"seed\": \"0x1\", \"ok\": true}"
done >root/results/reference/my-task.jsonl
run "$check"
is "$(cat out)" 'my-task: 0 findings' 'nothing is left when all is done'

# each rule by itself
broken() { # WHAT FILE SED-PROGRAM WANTED
	cp "root/$2" kept
	sed -i "$3" "root/$2"
	run "$check" --quick
	like "$(<out)" "$4" "$1"
	cp kept "root/$2"
}
broken 'code in guidance' guidance/my-task.json 's/Nothing but the result/tl.store(y)/' 'L2.2 text: "tl.store\(" looks like code'
broken 'an identifier' guidance/my-task.json 's/Nothing but the result/No num_warps/' 'L2.2 text: num_warps is no word'
broken 'a name of a library' guidance/my-task.json 's/Nothing but the result/As in Triton/' 'L2.2 text: names Triton'
broken 'a tuned constant' guidance/my-task.json 's/Nothing but the result/Tiles of 96/' 'L2.2 text: the number 96 is not in task.md'
broken 'not true of the expert' guidance/my-task.json '0,/"expert": "yes"/s//"expert": "no"/' 'L1.1 is not true of the expert'
broken 'an L1 idea in the baseline' guidance/my-task.json '0,/"baseline": "no"/s//"baseline": "yes"/' 'L1.1 is true of the baseline, though L1'
broken 'no headline' guidance/my-task.json '/"headline"/d' 'no headline'
broken 'a level too few' guidance/my-task.json '/"id": "L1.1"/,/"truth"/d; s/\["L1.1"\]/[]/' 'no item of level L1'
broken 'a circle' guidance/my-task.json 's/"L1.1", "level": "L1", "weight": 2, "requires": \[\]/"L1.1", "level": "L1", "weight": 2, "requires": ["L2.1"]/' 'my-task: d2k-prompt: '
broken 'a tensor without a word' tasks/my-task/task.md 's/\by\b/z/g' 'task.md: does not mention y'
broken 'one smoke workload' workloads/my-task.jsonl '/smoke-wide/d' '1 workloads of tier smoke'
broken 'a changed expert' tasks/my-task/expert.py '$s/$/ # x/' 'is of another expert'
broken 'a changed task' tasks/my-task/task.json 's/6e-3/7e-3/' 'is of another task.json'
broken 'a reference that does not agree' results/reference/my-task.jsonl 's/true/false/' 'few, seed 0x1: the reference does not agree'
broken 'no reference' results/reference/my-task.jsonl '/smoke-wide/d' 'smoke-wide was not compared'
mv root/tasks/my-task/probes root/probes
run "$check" --quick
like "$(<out)" '0 wrong submissions' 'no probes'
mv root/probes root/tasks/my-task/probes
sed -i 's/e \* inverse/e + inverse/' root/tasks/my-task/expert.py
run "$check"
like "$(<out)" 'my-task: expert.py: smoke-ragged: wrong: ' 'an expert that is wrong'
t_done
