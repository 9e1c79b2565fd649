# shellcheck shell=bash
# d2k-time on a GPU that is not there (tests/fake/README.md). To be read after lib.sh; reads time.sh.
. "$D2K_ROOT/tests/time.sh"
# what a driver holds for a process goes away with it: no leak
export ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0

# fake_gpu: in the root of time_root, d2k-time finds the fake device; its lock is the test's own
fake_gpu() {
	export LD_LIBRARY_PATH=$D2K_BUILD/tests/fake D2K_NVRTC=$D2K_BUILD/tests/fake/libnvrtc.so D2K_LOCKS=$PWD
	# small, because each call is made by the host
	sed -i 's/"N": 1000000/"N": 1000/' root/workloads/twice.jsonl
}

# fake_dir: a scratch folder (t_dir) with the root of time_root and the fake device
fake_dir() {
	t_dir
	time_root
	fake_gpu
}

# fake_few: of the tier bench so large that there are few sets and calls; the host is done soonest. A call takes 64000 ns
# at least.
fake_few() {
	sed -i '/bench/s/"N": 1000/"N": 8000/' root/workloads/twice.jsonl
}

# fake_peaks DEVICE...: records do not measure these devices, which are known to be as their driver says
fake_peaks() {
	local device

	cat >no-peaks.c <<-END
	#include "$(dirname "${BASH_SOURCE[0]}")/fake/kernel.h"
	const int fake_kernels = 1;
	const unsigned fma_fp32_params[] = { 8, 8, 8, 8, 0 };
	void fma_fp32(struct fake_launch *launch) { launch->fault = 719; }
	END
	for device; do
		FAKE_SOURCE=$PWD/no-peaks.c FAKE_MEMORY=10000000 d2k-time --calibrate --device "$device" >/dev/null 2>&1
	done
}

# fake_kernel NAME NANOSECONDS STATEMENTS: NAME.so, an image with the function `kernel`
fake_kernel() {
	{
		cat <<-END
		#include "$(dirname "${BASH_SOURCE[0]}")/fake/kernel.h"
		#include <fcntl.h>
		#include <math.h>
		#include <signal.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <unistd.h>
		#define EACH for (int i = 0; i < n; i++)
		const int fake_kernels = 1;
		const unsigned kernel_params[] = { 8, 8, 4, 4, 8, 8, 0 };
		void kernel(struct fake_launch *launch)
		{
			float *x = *(float **)launch->params[0], *y = *(float **)launch->params[1];
			int n = *(int *)launch->params[2];
			float factor = *(float *)launch->params[3];
			static long call, load;

			if (!call++) {
				char text[32];

				load = getenv("LOADS_$1") ? atol(getenv("LOADS_$1")) + 1 : 1;
				snprintf(text, sizeof(text), "%ld", load);
				setenv("LOADS_$1", text, 1);
			}
			launch->ns = $2;
		END
		printf '%s\n}\n' "$3"
	} >"$1.c"
	cc -O1 -w -fPIC -shared -o "$1.so" "$1.c" -lm || exit 1
}

# fake_bundle NAME: a bundle that launches it once, for every workload of the task
fake_bundle() {
	base64 -w0 "$1.so" >"$1.base64"
	jq -cjn --arg s "# $1" --arg sha "$(printf '# %s' "$1" | sha256sum | cut -d' ' -f1)" --rawfile cubin "$1.base64" \
		--arg task "$(sha256sum <root/tasks/twice/task.json | cut -d' ' -f1)" \
		--arg workloads "$(sha256sum <root/workloads/twice.jsonl | cut -d' ' -f1)" \
		--slurpfile w root/workloads/twice.jsonl '
		{version: 1, task: "twice", target: "sm_90", triton: "3.9.0", source: $s, source_sha256: $sha,
		 task_hash: $task, workloads_hash: $workloads,
		 kernels: [{name: "kernel", cubin: $cubin, shared: 0, num_warps: 4, num_ctas: 1}],
		 plans: [$w[] | {workload: .id,
			buffers: [{name: "x", role: "in", bytes: (4 * .dims.N)}, {name: "y", role: "out", bytes: (4 * .dims.N)}],
			steps: [{op: "launch", variants: [{kernel: 0, grid: [((.dims.N + 127) / 128 | floor), 1, 1],
				args: [{ptr: "x", offset: 0}, {ptr: "y", offset: 0}, {i32: .dims.N}, {f32: .params.factor}]}]}]}]}'
}

# fake_record CANDIDATE [BASELINE [EXPERT]]: a record with these kernels' bundles in it
fake_record() {
	local name made hash more='{}' keys=(bundle baseline expert)

	for name; do
		for made in "$name.so" root/tasks/twice/task.json root/workloads/twice.jsonl; do
			[ "$name.json" -nt "$made" ] || fake_bundle "$name" >"$name.json"
		done
		hash=$(sha256sum <"$name.json" | cut -d' ' -f1)
		more=$(jq -c --arg key "${keys[0]}" --arg h "$hash" --slurpfile b "$name.json" \
			'.[$key] = $h | .bundles[$h] = $b[0]' <<<"$more")
		keys=("${keys[@]:1}")
	done
	record "# $1" "$more"
}

# fake_edited EDIT NAME...: the same record, but that the first has its bundle edited, by jq
fake_edited() {
	local hash

	fake_record "${@:2}" >unedited
	jq -cj "$1" "$2.json" >edited.json
	hash=$(sha256sum <edited.json | cut -d' ' -f1)
	jq -c --arg h "$hash" --slurpfile b edited.json '.build.bundle = $h | .build.bundles[$h] = $b[0]' unedited
}
