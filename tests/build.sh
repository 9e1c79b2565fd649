# shellcheck shell=bash
# What the tests of d2k-build share: a small project of its own with one task, and records around fixtures.

# build_root: makes $root with task "mini" (y = x * factor); the tools then work on it. Sets aside D2K_PYTHON and the real root.
build_root() {
	local python=${D2K_PYTHON:-$D2K_ROOT/.venv/bin/python3}

	[ -x "$python" ] || skip_all "no Python at $python"
	real=$D2K_ROOT root=$PWD/root
	export D2K_PYTHON=$python D2K_ROOT=$root
	mkdir -p "$root"/{tasks/mini,workloads,tools}
	cp -r "$real/tools/triton" "$root/tools/triton"
	cat >"$root/tasks/mini/task.json" <<-'END'
		{"version":1,"name":"mini","title":"y = x * factor","dims":["N"],"params":["factor"],
		 "tensors":[{"name":"x","role":"in","dtype":"float32","shape":["N","64"]},
		            {"name":"y","role":"out","dtype":"float32","shape":["N","64"],"check":[{"metric":"rfe","max":1e-4}]}],
		 "temps":[],"generate":[{"stage":"make_x","count":"64*N"}],"oracle":[{"stage":"scale","count":"64*N"}],
		 "bytes":"512*N","flops":"64*N","flop_unit":"fp32","source":"a test"}
	END
	echo '# Scale' >"$root/tasks/mini/task.md"
	cat >"$root/tasks/mini/oracle.c" <<-'END'
		#include "oracle.h"
		STAGE(make_x) { t->x[i] = (float)rand_normal(t->seed, 0, (u64)i); }
		STAGE(scale) { t->ref_y[i] = t->x[i] * t->factor; }
	END
	cat >"$root/workloads/mini.jsonl" <<-'END'
		{"id":"w","tier":"bench","dims":{"N":1000},"params":{"factor":1.0},"origin":"a test"}
		{"id":"small","tier":"smoke","dims":{"N":100},"params":{"factor":2.5},"origin":"a test"}
	END
}

fixture() { # NAME: the submission of that name, with this test's places filled in
	sed "s|@ROOT@|$real|; s|@STORE@|$D2K_STORE|; s|@HERE@|$PWD|; s|@PORT@|${port:-9}|" "$real/tests/fixtures/build/$1.py"
}

record() { # NAME [ID]: a record that hands in this fixture
	fixture "$1" >submission
	jq -cn --rawfile s submission --arg id "${2:-$1}" \
		'{id: $id, task: "mini", arm: "without", model: "m", repeat: 1, agent: {status: "submitted", submission: $s}}'
}
