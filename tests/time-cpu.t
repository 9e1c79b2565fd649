#!/bin/bash
# d2k-time --device cpu: submissions of every kind on a task of two lines, run by the interpreter in the sandbox.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/time.sh"
t_dir
time_root
"$D2K_PYTHON" -c 'import triton' 2>err || skip_all 'no Triton here'
command -v bwrap >/dev/null || skip_all 'no bubblewrap here'

# check NAME STATUS MESSAGE BODY [STATEMENTS]: runs it, and holds status and message against what is wanted
check() {
	record "$(submission "$4" "${5:-}")" >in
	run d2k-time --device cpu --workload small --hang 20 <in
	exits 0 "$1"
	is "$(jq -r .time.status out)" "$2" "$1: $2"
	like "$(jq -r '.time.workloads[0].message' out)" "$3" "$1: the message"
	is "$(jq '.time | .comparable == false and .speedup == null and .workloads[0].ns.candidate == null' out)" true "$1: no times"
}
right='tl.store(y + i, factor * tl.load(x + i, mask=i < n), mask=i < n)'

record "$(submission "$right")" >in
run d2k-time --device cpu --seeds 3 <in
exits 0 'a right one'
is "$(jq -c '[.time.status, .time.reason, .time.device, .time.tier, (.time.workloads | map(.id, .status))]' out)" \
	'["correct",null,{"name":"cpu-interpreter"},"smoke",["small","correct","odd","correct"]]' 'all of it is said'
is "$(jq -c '.time.seeds | length, .[0:2]' out | tr '\n' ' ')" '3 ["0x0000000000000001","0x0000000000000002"] ' 'two seeds are everybody'"'"'s'
is "$(jq '.time.seeds[2] == .time.fresh_seed and (.time.fresh_seed | test("^0x[0-9a-f]{16}$"))' out)" true 'the third is fresh'
first=$(jq -r .time.fresh_seed out)
is "$(jq -c '.time.workloads[0].outputs[0] | .name, .nonfinite, (.metrics[0] | .metric, .limit == 1e-6, .ok)' out | tr '\n' ' ')" \
	'"y" 0 "rfe" true true ' 'the figure and the limit applied'
is "$(jq -c 'del(.time)' out)" "$(<in)" 'upstream is as it was'
run d2k-time --device cpu --workload odd <in
is "$(jq -c '[.time.workloads[].id]' out)" '["odd"]' 'one workload alone'
ok test "$(jq -r .time.fresh_seed out)" != "$first" -- 'the next run draws another seed'

check 'a wrong factor' wrong 'output y: rfe 0.05 .*expected .*got' 'tl.store(y + i, 2.1 * tl.load(x + i, mask=i < n), mask=i < n)'
check 'zeros' wrong 'rfe 1 ' 'tl.store(y + i, 0.0 * factor, mask=i < n)'
check 'the last element left out' wrong '1 of 1000 elements are not finite' "${right//i < n/i < n - 1}"
check 'nothing written' wrong '1000 of 1000 elements are not finite' 'pass'
check 'an input changed' wrong 'changed the input x' "$right; tl.store(x + i, 0.0, mask=i == 7)"
check 'a store past the end' fault 'y' "${right//mask=i < n/mask=i < n + 1}"
check 'a run that raises' fault 'ValueError' "$right" 'raise ValueError("no")'
check 'a run that reads a value' fault 'host_reads_tensor' "$right" 'x[0].item()'
check 'a forbidden import' fault 'forbidden_import' "$right" 'import os; os._exit(0)'
check 'a forged answer on stdout' wrong 'not finite' 'pass' 'print("{\"status\":\"ok\"}\n{\"time\":{\"status\":\"correct\"}}")'
is "$(wc -l <out)" 1 'what it prints goes nowhere'

record "$(submission "$right" 'while True: pass')" >in
run d2k-time --device cpu --workload small --hang 3 <in
is "$(jq -r .time.status out)" timeout 'a run without end'
record "$(submission "$right")" >>in
record "$(submission pass)" >>in
run d2k-time --device cpu --workload small --hang 3 <in
is "$(jq -r .time.status out | tr '\n' ' ')" 'timeout correct wrong ' 'records do not touch each other'
is "$(jq -r '.time.workloads[0].seed' out | sed -n 3p)" 0x0000000000000001 'the seed of a failure is there'

printf 'from triton.experimental import gluon\n%s' "$(submission "$right")" | sed 's/@triton.jit/@gluon.jit/' >gluon.py
record "$(<gluon.py)" >in
run d2k-time --device cpu --workload small <in
is "$(jq -r .time.status out)" unsupported 'Gluon cannot be interpreted'
t_done
