#!/bin/bash
# Oracles by hand: every task's compiles for the host and, by NVRTC, for both targets without a GPU; dumps are reproducible.
. "$(dirname "$0")/lib.sh"
t_dir

for dir in "$D2K_ROOT"/tasks/*/; do
	task=$(basename "$dir")
	[ -f "$dir/task.json" ] || continue
	for target in sm_90 sm_100; do
		run timeout 300 d2k-time --check-oracle "$task" --target "$target"
		exits 0 "$task: compiles for the host and for $target"
		like "$(<out)" "bytes of cubin for $target" "$task: a cubin for $target"
		# an input may be infinite where the text says that it is
		infinite=$(grep 'not finite [1-9]' out | while read -r name _; do
			grep -q "$name.*infinity\|infinity.*$name" "$dir/task.md" || echo "$name"
		done)
		is "$infinite" '' "$task: everything is finite that should be"
	done
	before=$(find "$D2K_STORE/oracle" -type f | wc -l)
	cp out first
	run d2k-time --check-oracle "$task" --target sm_100
	same out first "$task: the same again"
	is "$(find "$D2K_STORE/oracle" -type f | wc -l)" "$before" "$task: nothing was compiled anew"
	run d2k-time --check-oracle "$task" --target sm_100 --seed 2
	ok test "$(cut -c1-200 out | md5sum)" != "$(cut -c1-200 first | md5sum)" -- "$task: another seed, other data"

	id=$(jq -r 'select(.tier == "smoke") | .id' "$D2K_ROOT/workloads/$task.jsonl" | head -n 1)
	run d2k-time --dump-oracle "$task" --workload "$id" --dir "dump/$task"
	exits 0 "$task: a dump"
	bytes() { jq -r --arg role "$1" --argjson size "$2" '.tensors[] | select(.role != $role) |
		"\(.name) \((.shape | reduce .[] as $n (1; . * $n)) * (if $size > 0 then $size else
		{float64: 8, float32: 4, float16: 2, bfloat16: 2, int64: 8, int32: 4, int16: 2}[.dtype] // 1 end))"' "dump/$task/index.json"; }
	wrong=0
	while read -r name n; do [ "$(stat -c %s "dump/$task/$name.raw")" = "$n" ] || wrong=1; done < <(bytes out 0)
	while read -r name n; do [ "$(stat -c %s "dump/$task/ref_$name.raw")" = "$n" ] || wrong=1; done < <(bytes in 8)
	is $wrong 0 "$task: a file of the right size per input and reference"
done

run d2k-time --check-oracle nothing
exits 1 'an unknown task'
run d2k-time --dump-oracle swiglu-dual-fp8-quant --workload nothing --dir x
exits 1 'an unknown workload'
like "$(<err)" "no workload 'nothing'" 'is named'
run d2k-time --dump-oracle swiglu-dual-fp8-quant
exits 2 'a dump without a place'

# a task of our own, whose oracle does not compile
mkdir -p root/tasks/broken root/workloads
cp -r "$D2K_ROOT/tools" root/ 2>/dev/null
cat >root/tasks/broken/task.json <<'END'
{"version": 1, "name": "broken", "title": "t", "dims": ["N"], "params": [],
 "tensors": [{"name": "x", "role": "in", "dtype": "float32", "shape": ["N"]},
  {"name": "y", "role": "out", "dtype": "float32", "shape": ["N"], "check": [{"metric": "rfe", "max": 1e-6}]}],
 "temps": [], "generate": [{"stage": "make", "count": "N"}], "oracle": [{"stage": "twice", "count": "N"}],
 "bytes": "8*N", "flops": "N", "flop_unit": "fp32", "source": "a test"}
END
echo '{"id": "w", "tier": "smoke", "dims": {"N": 1000}, "params": {}, "origin": "a test"}' >root/workloads/broken.jsonl
echo words >root/tasks/broken/task.md
cat >root/tasks/broken/oracle.c <<'END'
#include "oracle.h"
STAGE(make) { t->x[i] = (float)rand_normal(t->seed, 1, i); }
STAGE(twice) { t->ref_y[i] = 2 * t->z[i]; }
END
D2K_NVRTC=${D2K_NVRTC:-$(find "$D2K_ROOT/.venv/" -name 'libnvrtc.so.[0-9]*' 2>/dev/null | head -n 1)}
[ -z "$D2K_NVRTC" ] || export D2K_NVRTC
D2K_ROOT=$PWD/root run d2k-time --check-oracle broken
exits 1 'an oracle that does not compile'
like "$(<err)" 'tasks/broken/oracle.c.*3.*z' 'is reported with its file, its line and the name'
sed -i 's/t->z/t->x/' root/tasks/broken/oracle.c
D2K_ROOT=$PWD/root run d2k-time --check-oracle broken
exits 0 'and compiles when repaired'
sed -i 's/"stage": "twice"/"stage": "thrice"/' root/tasks/broken/task.json
D2K_ROOT=$PWD/root run d2k-time --check-oracle broken
exits 1 'a stage that oracle.c lacks'
like "$(<err)" "no kernel 'stage_thrice'" 'is named'

# one that never ends: an interrupt from the keyboard ends it, and whatever it runs
sed -i 's/"stage": "thrice"/"stage": "twice"/' root/tasks/broken/task.json
sed -i 's/t->ref_y/for (volatile int k = 0; k < 1;) k = 0; &/' root/tasks/broken/oracle.c
D2K_ROOT=$PWD/root run timeout -k 10 -s INT 4 d2k-time --check-oracle broken
exits 124 'an endless oracle is stopped by an interrupt'
t_done
