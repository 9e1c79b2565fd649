#!/bin/bash
# d2k-time --calibrate: where there is a GPU its peaks are measured, printed and kept, else it says so.
. "$(dirname "$0")/lib.sh"
t_dir

run d2k-time --calibrate
if [ "$status" = 75 ]; then
	exits 75 "without a GPU: try again later"
	is "$(<out)" "" "nothing is printed"
	like "$(<err)" "^d2k-time: no GPU to measure: " "why is said"
	ok test ! -e "$D2K_STORE/device" -- "and nothing kept"
else
	exits 0 "measures"
	is "$(jq -s length out)" 1 "one object is printed"
	like "$(jq -r .uuid out)" "^GPU-[0-9a-f-]+$" "with the device"
	is "$(jq -r '.peaks.bandwidth_gbs.source' out)" measured "its bandwidth is measured"
	is "$(jq '.peaks | .bandwidth_gbs.value == ([.read_gbs, .write_gbs, .copy_gbs | .value] | max)' out)" true \
		"and is the highest of the three ways"
	is "$(jq '[.peaks[] | select(.) | .value > 0] | all' out)" true "all figures are above 0"
	# 1 %: the clock that the driver states is rounded
	is "$(jq '[.peaks[] | select(.vendor) | .value < 1.01 * .vendor] | all' out)" true \
		"and none above what the vendor's clocks allow"
	if [ "$(jq .unsteady out)" = null ]; then
		find "$D2K_STORE/device" -type f -exec cat {} + >kept
		same kept out "what is printed is kept"
	else
		ok test ! -e "$D2K_STORE/device" -- "not kept: $(jq -r .unsteady out)"
	fi
fi
run d2k-time --calibrate --device cpu
exits 2 "the CPU is not measured"
run d2k-time --calibrate --check-oracle swiglu-dual-fp8-quant
exits 2 "nor an oracle looked at in the same breath"
t_done
