#!/bin/bash
# d2k-time --device cpu --profile: what the build and the disassembler know of real kernels.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/time.sh"
t_dir
time_root
"$D2K_PYTHON" -c 'import triton' 2>err || skip_all 'no Triton here'
needs_sandbox
unset D2K_NVDISASM

submission 'tl.store(y + i, factor * tl.load(x + i, mask=i < n), mask=i < n)' >submission.py
cp submission.py root/tasks/twice/baseline.py
cp submission.py root/tasks/twice/expert.py
d2k-build --tier smoke --task twice --source submission.py >built.jsonl
is "$(jq -r .build.status built.jsonl)" ok 'a submission is built'
run d2k-time --device cpu --profile built.jsonl
exits 0 'its profile without a GPU'
is "$(jq -r .time.status out)" correct 'beside the check'
# profile FILTER: of the first workload's profile
profile() { jq -c ".time.workloads[0].profile | $1" out; }
is "$(jq -c '[.time.workloads[].profile.kernels | length]' out)" '[1,1]' 'each workload has one, of one kernel'
is "$(profile '.kernels[0] | [.name, .steps, .grid, .threads, .cluster]')" '["kernel",[0],[8,1,1],128,1]' 'how it is launched'
is "$(profile '.kernels[0].registers')" "$(jq '.build.kernels[0].registers' built.jsonl)" "the build's registers"
is "$(profile '.kernels[0].occupancy | [.share, .limiter]')" '[1,"warps"]' 'what fits a multiprocessor of the target'
is "$(profile '.kernels[0].instructions | [.global_load_32, .global_store_32, .tensor, .local_load, .barrier]')" '[1,1,0,0,0]' \
	'its instructions: a load and a store'
ok test "$(profile '.kernels[0].instructions.total')" -gt 10 -- 'among others'
is "$(profile '[.ns, .kernels[0].ns, .kernels[0].share, .bytes_share, .bound, .kernels[0].counters]')" '[null,null,null,null,null,null]' \
	'no times, no counters'
is "$(profile '[.why_not.times, .why_not.instructions, .why_not.counters]')" '["there is no GPU",null,"there is no GPU"]' 'and why'

is "$(jq -c .time.compiler_notes out)" '[]' 'the compiler had nothing to note'
jq -c '.build.log = "kernel kernel: one thing\nkernel other: another\nprinted by the submission:\nkernel kernel: a lie"' built.jsonl >noted.jsonl
run d2k-time --device cpu --profile noted.jsonl
is "$(jq -c .time.compiler_notes out)" '["kernel kernel: one thing","kernel other: another"]' 'what it notes is told, what the submission prints is not'

D2K_NVDISASM=/nonexistent run d2k-time --device cpu --profile built.jsonl
is "$(profile '[.kernels[0].instructions, .why_not.instructions]')" \
	'[null,"$D2K_NVDISASM is '\''/nonexistent'\'', where there is no nvdisasm"]' 'no disassembler: no instructions, and why'
jq -c '.build.bundle = ("a" * 64)' built.jsonl >lost.jsonl
run d2k-time --device cpu --profile lost.jsonl
is "$(jq -c '[.time.status, .time.workloads[0].profile]' out)" '["correct",null]' 'a bundle that is nowhere: no profile, no harm'
run d2k-time --device cpu built.jsonl
is "$(jq -c '[.time.workloads[].profile, .time.compiler_notes]' out)" '[null,null,null]' 'none unless asked for'
t_done
