#!/bin/bash
# d2k-time's peaks: measured once per device, printed by --calibrate, kept, and what floors come from. On a GPU that is
# not there (tests/fake), and on the one that is, if there is one.
# shellcheck disable=SC2317 # functions are called through ok
. "$(dirname "$0")/lib.sh"
# shellcheck source=fake.sh
. "$D2K_ROOT/tests/fake.sh"
t_dir

run d2k-time --calibrate
if [ "$status" = 75 ]; then
	exits 75 "without a GPU: try again later"
	is "$(<out)" "" "nothing is printed"
	like "$(<err)" "^d2k-time: no GPU to measure: " "why is said"
	ok test ! -e "$D2K_STORE/device" -- "and nothing kept"
else
	exits 0 "measures"
	is "$(jq '[.peaks[] | select(.) | .value > 0] | all' out)" true "all figures are above 0"
	# 1 %: the clock that the driver states is rounded
	is "$(jq '[.peaks[] | select(.vendor) | .value < 1.01 * .vendor] | all' out)" true \
		"and none above what the vendor's clocks allow"
fi
run d2k-time --calibrate --device cpu
exits 2 "the CPU is not measured"
run d2k-time --calibrate --check-oracle swiglu-dual-fp8-quant
exits 2 "nor an oracle looked at in the same breath"

# A device whose kernels have these rates, in bytes or operations per nanosecond; it has no wgmma_tf32.
fakes=$D2K_ROOT/tests/fake
peaks_source() { # FILE STATEMENT-IN-EACH-KERNEL
	cat >"$1" <<-END
	#include "$fakes/kernel.h"
	const int fake_kernels = 1;
	#define KERNEL(name, amount, rate) \\
	const unsigned name##_params[] = { 8, 8, 8, 8, 0 }; \\
	void name(struct fake_launch *l) \\
	{ \\
		double n = (double)*(unsigned long long *)l->params[1], done = amount; \\
		l->ns = done / (rate); \\
		**(double **)l->params[2] = done; \\
		$2; \\
	}
	#define MEMORY(kind, bytes, rate) \\
		KERNEL(kind##_2, bytes * n, rate) KERNEL(kind##_4, bytes * n, 0.99 * rate) KERNEL(kind##_8, bytes * n, 0.98 * rate)
	MEMORY(read, 16, 0.9)
	MEMORY(write, 16, 0.7)
	MEMORY(copy, 32, 0.8)
	#define THREADS (l->grid[0] * l->block)
	KERNEL(wgmma_bf16, 1000 * n * THREADS, 32000)
	KERNEL(wgmma_fp16, 1000 * n * THREADS, 31000)
	KERNEL(wgmma_fp8, 1000 * n * THREADS, 64000)
	KERNEL(wgmma_int8, 1000 * n * THREADS, 63000)
	KERNEL(fma_fp32, 1000 * n * THREADS, 2000)
	KERNEL(fma_fp64, 1000 * n * THREADS, 1000)
	KERNEL(mma_fp64, 1000 * n * THREADS, 1900)
	END
}
time_root
fake_gpu
export D2K_STORE=$PWD/fresh FAKE_SOURCE=$PWD/peaks.c FAKE_MEMORY=$((256 << 20))
kept() { find "$D2K_STORE/device" -type f -exec cat {} + 2>/dev/null; }
peaks_source peaks.c ""

run d2k-time --calibrate
exits 0 "a device is measured"
cp out printed
is "$(jq -c '[.peaks[] | .value * 1000 | round]' out)" "[900,900,700,800,32000,31000,16384,64000,63000,2000,1900]" \
	"each figure is the fastest kernel's"
is "$(jq -r '[.peaks[] | .source] | join(" ")' out)" "measured measured measured measured measured measured vendor$(
	)$(printf ' measured%.0s' 1 2 3 4)" "the vendor's where there is no kernel"
is "$(jq -r '.peaks | [.bandwidth_gbs.kernel, .fp64_tflops.kernel] | join(" ")' out)" "read_2 mma_fp64" "which is told"
is "$(jq -c '[.failed, .unsteady]' out)" "[null,null]" "nothing was amiss"
kept >file
ok test -s file -- "and kept"
same file printed "as printed"

# What a record takes from there: 8000 bytes at 0.9 bytes a nanosecond.
fake_kernel right 10000 'EACH y[i] = factor * x[i];'
fake_kernel fast 5000 'EACH y[i] = factor * x[i];'
printf '# right' | tee root/tasks/twice/baseline.py >root/tasks/twice/expert.py
fake_record right right right >in
run d2k-time in
exits 0 "a record on a device that was measured"
unlike "$(<err)" "measuring" "does not measure again"
is "$(jq -c .time.device.peaks out)" "$(jq -c '.peaks | map_values({value, source})' printed)" "has the figures"
is "$(jq '.time.workloads[0].floor_ns | round' out)" 8889 "and a floor by them"
is "$(jq -r .time.status out)" correct "a kernel above it"
is "$(jq '.time.workloads[0] | .roofline * .ns.candidate / .floor_ns * 1e6 | round' out)" 1000000 \
	"has its share of the roofline"
fake_record fast right right >in
run d2k-time in
is "$(jq -r .time.status out)" invalid "a kernel below it is none"
export D2K_STORE=$PWD/other
fake_record right right right >in
run d2k-time in
is "$(grep -c 'measuring what the GPU can do' err)" 1 "a device that was not is measured first"
is "$(jq -r '.time | .status, .device.peaks.bf16_tflops.source' out | xargs)" "correct measured" "and the record goes on"
ok test -n "$(kept)" -- "they are kept"
find "$D2K_STORE/device" -type f -exec truncate -s 100 {} +
run d2k-time in
is "$(grep -c 'measuring what the GPU can do' err)" 1 "damaged ones are measured anew"
jq -e .peaks.bf16_tflops < <(kept) >/dev/null
is $? 0 "and kept again"

# What is not kept, and why.
export D2K_STORE=$PWD/disturbed
disturbed() { # WHY NAME: under the environment that is set
	run d2k-time --calibrate
	exits 0 "$2: measured"
	like "$(<err)" "^d2k-time: not kept, because .*$1" "not kept, and why is said"
	like "$(jq -r .unsteady out)" "$1" "in the object too"
	is "$(kept)" "" "nothing is there"
}
FAKE_STATE='0 reasons=2,sm=1500' disturbed "someone has set the clock to 1500 MHz" "a device with its clock set"
FAKE_STATE='0 reasons=8' disturbed "throttled" "a throttled device"
FAKE_STATE='0 others=1' disturbed "another process" "a shared device"
FAKE_STATE='0 reasons=4,sm=1500' run d2k-time --calibrate
is "$(jq -r .unsteady out)" null "the power limit is the device's own"

# What cannot be measured.
export D2K_STORE=$PWD/faulty
peaks_source peaks.c "l->fault = 715"
run d2k-time in
is "$(jq -r .time.status out)" tool_error "a fault while measuring is the tool's"
like "$(kept | jq -r .failed)" "." "it is kept"
run d2k-time in
is "$(jq -r '.time | .status, .device.peaks.bf16_tflops.source' out | xargs)" "correct vendor" \
	"and the next record does with the vendor's figures"
run d2k-time --calibrate
exits 1 "by hand it fails"
like "$(<err)" "^d2k-time: nothing was measured: " "and says so"
export D2K_STORE=$PWD/none
echo 'int x = ;' >peaks.c
run d2k-time in
is "$(jq -r '.time | .status, .device.peaks.bf16_tflops.source' out | xargs)" "correct vendor" \
	"without kernels a record does with the vendor's figures"
is "$(kept)" "" "of which nothing is kept"
t_done
