#!/bin/bash
# d2k-time --device cpu: submissions of every kind on a task of two lines, run by the interpreter in the sandbox.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/time.sh"
t_dir
time_root
"$D2K_PYTHON" -c 'import triton' 2>err || skip_all 'no Triton here'
command -v bwrap >/dev/null || skip_all 'no bubblewrap here'
right='tl.store(y + i, factor * tl.load(x + i, mask=i < n), mask=i < n)'

# 2 is an int in workload small, 2.0 a float in odd
record "$(submission "$right" 'assert type(factor) is (float if x.shape[0] == 333 else int)')" >in
run d2k-time --device cpu <in
exits 0 'a right one'
is "$(jq -c '[.time.status, .time.reason, .time.device, .time.tier, (.time.workloads | map(.id, .status))]' out)" \
	'["correct",null,{"name":"cpu-interpreter"},"smoke",["small","correct","odd","correct"]]' 'all of it is said'
is "$(jq -c '.time | .seeds[0], (.seeds | length), (.seeds[1] == .fresh_seed), (.fresh_seed | test("^0x[0-9a-f]{16}$"))' out | tr '\n' ' ')" \
	'"0x0000000000000001" 2 true true ' 'one seed is everybody'"'"'s, the last is fresh'
first=$(jq -r .time.fresh_seed out)
is "$(jq -c '.time.workloads[0].outputs[0] | .name, .nonfinite, (.metrics[0] | .metric, .limit == 1e-6, .ok)' out | tr '\n' ' ')" \
	'"y" 0 "rfe" true true ' 'the figure and the limit applied'
like "$(<out)" '"limit":1e-06,' 'the limit as it was written'
is "$(jq -c 'del(.time)' out)" "$(<in)" 'upstream is as it was'
run d2k-time --device cpu --workload odd --seeds 1 <in
is "$(jq -c '[.time.workloads[].id]' out)" '["odd"]' 'one workload alone'
ok test "$(jq -r .time.fresh_seed out)" != "$first" -- 'the next run draws another seed'

# many in one stream, so that none touches the next
names=() statuses=() messages=()
wants() { # NAME STATUS MESSAGE BODY [STATEMENTS]
	names+=("$1") statuses+=("$2") messages+=("$3")
	record "$(submission "$4" "${5:-}")"
}
{
	wants 'a wrong factor' wrong 'output y: (1000|99[0-9]) of 1000 elements wrong .*1.05 times.*rfe 0.05 .*expected .*got' 'tl.store(y + i, 2.1 * tl.load(x + i, mask=i < n), mask=i < n)'
	wants 'zeros' wrong 'rfe 1 ' 'tl.store(y + i, 0.0 * factor, mask=i < n)'
	wants 'the last element left out' wrong '1 of 1000 elements are not finite' "${right//i < n/i < n - 1}"
	wants 'nothing written' wrong '1000 of 1000 elements are not finite' 'pass'
	wants 'an input changed' wrong 'changed the input x' "$right; tl.store(x + i, 0.0, mask=i == 7)"
	wants 'a store past the end' fault 'y' "${right//mask=i < n/mask=i < n + 1}"
	wants 'a run that raises' fault 'ValueError' "$right" 'raise ValueError("no")'
	wants 'a run that reads a value' fault 'host_reads_tensor' "$right" 'x[0].item()'
	wants 'a forbidden import' fault 'forbidden_import' "$right" 'import os; os._exit(0)'
	wants 'a forged answer on stdout' wrong 'not finite' 'pass' 'print("{\"status\":\"ok\"}\n{\"time\":{\"status\":\"correct\"}}")'
	wants 'a right one after them' correct null "$right"
	names+=('Gluon, which cannot be interpreted') statuses+=(unsupported) messages+=(Gluon)
	record "from triton.experimental import gluon
$(submission "$right" | sed 's/@triton.jit/@gluon.jit/')"
} >in
run d2k-time --device cpu --workload small --seeds 1 <in
exits 0 'many kinds of them'
is "$(wc -l <out)" ${#names[@]} 'a line each: what they print goes nowhere'
for i in "${!names[@]}"; do
	sed -n "$((i + 1))p" out >line
	is "$(jq -r .time.status line)" "${statuses[i]}" "${names[i]}: ${statuses[i]}"
	like "$(jq -r '.time.workloads[0].message' line)" "${messages[i]}" "${names[i]}: the message"
	is "$(jq '.time | .comparable == false and .speedup == null and .workloads[0].ns.candidate == null' line)" true "${names[i]}: no times"
done
is "$(jq '.time | .workloads[0].seed == (if .status == "correct" then null else .fresh_seed end)' out | sort -u)" true 'the seed of each failure is there'

record "$(submission "$right" 'while True: pass')" >in
run d2k-time --device cpu --workload small --hang 2 <in
is "$(jq -r .time.status out)" timeout 'a run without end'
like "$(jq -r '.time.workloads[0].message' out)" 'not ended after 2 s' 'is said to be one'

cp root/tasks/twice/oracle.c oracle.c
sed -i 's/^STAGE(make) .*/STAGE(make) { t->x[i] = (float)(0 * exp(1e9)); }/' root/tasks/twice/oracle.c
record "$(submission "$right")" >in
run d2k-time --device cpu --workload small <in
exits 0 'an oracle of NaN'
is "$(jq -r .time.status out)" tool_error 'confirms nothing'
like "$(jq -r .time.reason out)" "no finite value for output 'y'" 'and that is said'
cp oracle.c root/tasks/twice/oracle.c

# a Python that cannot replay anything is no fault of a submission's; what a submission does to it is
D2K_PYTHON=/bin/false run d2k-time --device cpu --workload small <in
is "$(jq -r .time.status out)" tool_error 'another program in place of Python'
like "$(jq -r .time.reason out)" 'the interpreter \(/bin/false\) did not start: exited 1: no message' 'which is named'
mv root/tools/triton/numerics.py numerics.py
run d2k-time --device cpu --workload small <in
is "$(jq -r .time.status out)" tool_error 'a module that is not there'
like "$(jq -r .time.reason out)" "did not start: exited 1: ModuleNotFoundError: No module named 'numerics'\$" 'which is said last'
mv numerics.py root/tools/triton/
record "$(submission "$right" 'n = 0
    triton.__builtins__["__import__"]("os")._exit(0)')" >in
run d2k-time --device cpu --workload small <in
is "$(jq -r .time.status out)" fault 'a submission that ends its process is at fault'
like "$(jq -r .time.reason out)" 'ended without an answer' 'which is said'
record "$(submission "$right")" >in

# what code in the sandbox can see: an interpreter that tells
cat >root/tools/triton/interpret.py <<'END'
import glob, json, os
seen = [repr(dict(os.environ)), *os.listdir("/")]
for path in glob.glob("/proc/*/environ") + glob.glob("/proc/self/fd/*"):
    try:
        seen.append(os.readlink(path) if "fd" in path else open(path).read())
    except OSError:
        pass
os.write(3, b"ready\n" + json.dumps({"status": "host_error", "message": " ".join(seen)}).encode())
END
record "$(submission "$right")" >in
TEST_SECRET=key-of-the-caller run d2k-time --device cpu --workload small <in
like "$(jq -r '.time.workloads[0].message' out)" 'PATH.*/usr/local/bin:/usr/bin:/bin.*memfd:d2k-set' 'the sandbox shows itself and the memory'
unlike "$(<out)" 'SECRET|key-of|D2K_' 'and nothing of our environment'
t_done
