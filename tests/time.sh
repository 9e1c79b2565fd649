# shellcheck shell=bash
# What tests/time*.t share: a project root of its own with one small task, y = 2 x, and records for it.

# time_root: ./root with the task `twice`; D2K_ROOT points there.
time_root() {
	mkdir -p root/tasks/twice root/workloads
	cp -r "$D2K_ROOT/tools" root/
	cat >root/tasks/twice/task.json <<-'END'
	{"version": 1, "name": "twice", "title": "twice the input", "dims": ["N"], "params": ["factor"],
	 "tensors": [{"name": "x", "role": "in", "dtype": "float32", "shape": ["N"]},
	  {"name": "y", "role": "out", "dtype": "float32", "shape": ["N"], "check": [{"metric": "rfe", "max": 1e-6}]}],
	 "temps": [], "generate": [{"stage": "make", "count": "N"}], "oracle": [{"stage": "twice", "count": "N"}],
	 "bytes": "8*N", "flops": "N", "flop_unit": "fp32", "source": "a test"}
	END
	cat >root/workloads/twice.jsonl <<-'END'
	{"id": "small", "tier": "smoke", "dims": {"N": 1000}, "params": {"factor": 2}, "origin": "a test"}
	{"id": "odd", "tier": "smoke", "dims": {"N": 333}, "params": {"factor": 2.0}, "origin": "a test"}
	{"id": "large", "tier": "bench", "dims": {"N": 1000000}, "params": {"factor": 2}, "origin": "a test"}
	END
	echo 'y is factor times x.' >root/tasks/twice/task.md
	cat >root/tasks/twice/oracle.c <<-'END'
	#include "oracle.h"
	STAGE(make) { t->x[i] = (float)rand_normal(t->seed, 1, i); }
	STAGE(twice) { t->ref_y[i] = t->factor * t->x[i]; }
	END
	export D2K_PYTHON=${D2K_PYTHON:-$D2K_ROOT/.venv/bin/python3} D2K_ROOT=$PWD/root
}

# submission BODY-OF-KERNEL [STATEMENTS-OF-RUN]: a source that launches the kernel
submission() {
	cat <<-END
	import triton
	import triton.language as tl

	@triton.jit
	def kernel(x, y, n, factor, BLOCK: tl.constexpr):
	    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
	    $1

	def run(x, y, *, factor):
	    ${2:-pass}
	    kernel[(triton.cdiv(x.shape[0], 128),)](x, y, x.shape[0], factor, BLOCK=128)
	END
}

# record SOURCE [MORE-OF-BUILD]: a record as d2k-build would leave it, without a bundle
record() {
	jq -cn --arg s "$1" --arg sha "$(printf %s "$1" | sha256sum | cut -d' ' -f1)" --argjson more "${2:-{\}}" \
		'{id: "r", task: "twice", agent: {submission: $s}, build: ({status: "ok", source_sha256: $sha} + $more)}'
}
