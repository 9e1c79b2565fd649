#!/bin/bash
# The interpreter's arithmetic against numpy, and its protocol: job on stdin, memory as descriptor 4, result on 3.
. "$(dirname "$0")/lib.sh"
t_dir
python=${D2K_PYTHON:-$D2K_ROOT/.venv/bin/python3}
[ -x "$python" ] || skip_all "no Python at $python"

run "$python" -sEB "$D2K_ROOT/tests/numerics.py"
exits 0 'the checks of numerics.py run'
checks=$(grep -c '^ok' out)
is "$(tail -n 1 out)" "1..$checks" "all $checks hold" || grep -A3 '^not ok' out | sed 's/^/# /'

interpret() { # SOURCE-FILE: runs it on ./memory, two tensors of 64 floats; the result lands in ./result
	jq -cn --rawfile s "$1" '{source: $s, params: {factor: 2.5}, tensors: [
		{name: "x", dtype: "float32", shape: [8, 8], role: "in", offset: 0},
		{name: "y", dtype: "float32", shape: [8, 8], role: "out", offset: 512}]}' >job
	status=0
	"$python" -sEB "$D2K_ROOT/tools/triton/interpret.py" <job 3>said 4<>memory >out 2>err || status=$?
	sed 1d said >result
}
floats() { od -An -v -w4 -t f4 "$@" memory | tr -d ' ' | sort | uniq -c | awk '{print $1, $2}'; }
fresh() { "$python" -c 'import struct, sys; sys.stdout.buffer.write(struct.pack("<64f", *[2] * 64) + b"\xff" * 768)' >memory; }

fresh
interpret "$D2K_ROOT/tests/fixtures/build/ok.py"
exits 0 'a job'
is "$(head -n 1 said)" ready 'it says that it is ready'
is "$(<result)" '{"status": "ok", "message": ""}' 'its result'
is "$(floats -j 512 -N 256)" '64 5' 'the output is in the memory'
is "$(floats -j 0 -N 256)" '64 2' 'the input is as it was'
is "$(floats -j 768 -N 256)" '64 -nan' 'so is what lies behind'
is "$(<out)$(<err)" '' 'it prints nothing'
for case in 'syntax:syntax_error:submission.py:7' 'import:forbidden_import:torch' 'reads:host_reads_tensor:submission.py:6' \
	'host:host_error:submission.py:14' 'gluon:unsupported:Gluon' 'assembly:unsupported:inline' 'static-assert:compile_error:must be 64' \
	'system-exit:host_error:SystemExit' 'signature:host_error:x, y'; do
	IFS=: read -r name wanted text <<<"$case"
	fresh
	interpret "$D2K_ROOT/tests/fixtures/build/$name.py"
	is "$status $(jq -r .status result)" "0 $wanted" "$name: $wanted"
	like "$(jq -r .message result)" "$text" "$name: says '$text'"
done
t_done
