#!/bin/bash
# What d2k-time says of times: ratios, intervals and verdicts, what ends a run, and what it does not take for a time. On a GPU
# that is not there, whose kernels take as long as they say.
. "$(dirname "$0")/lib.sh"
# shellcheck source=fake.sh
. "$D2K_ROOT/tests/fake.sh"
fake_dir
fake_few
fake_peaks 0
fake_kernel right 80000 'EACH y[i] = factor * x[i];'
fake_kernel slow 160000 'EACH y[i] = factor * x[i];'
fake_kernel middle 100000 'EACH y[i] = factor * x[i];'
fake_record right slow middle >in

time_() { jq -c ".time | $1" out; }
of() { jq -c ".time.workloads[0] | $1" out; }

# ---- exact times
run d2k-time --precision 0.1 --max-time 60 in
exits 0 'three kernels of known times'
is "$(time_ '[.status, .reason, .comparable, .self_test, .speedup, .vs_expert]')" '["correct",null,true,false,2,1.25]' 'are told apart'
is "$(of '[.ns[], ([.speedup_ci, .vs_expert_ci] | .[] | map(. * 1000 | round)), .verdict]')" '[80000,160000,100000,[2000,2000],[1250,1250],"faster"]' 'by their times, without doubt'
is "$(of '.timing | [.ended_by, .placements, .rounds, .dropped, .precision, .shared]')" '["precision",8,30,0,0.001,false]' \
	'which are precise enough as soon as may be, and three rounds in a placement when six in two were alike'
is "$(of '[.message, .seed, .bytes]')" '[null,null,64000]' 'nothing else is to be said'
cat in in >twice
run d2k-time --max-time 0.01 twice
is "$(jq -c '.time | [.seeds | length, .[-1]] as [$n, $last] | [$n, $last == .fresh_seed]' out | sort -u)" '[3,true]' 'three seeds, the last of them fresh'
is "$(jq -r .time.fresh_seed out | sort -u | wc -l)" 2 'for each record'
is "$(jq -c .time.seeds[:2] out | sort -u | wc -l)" 1 'the others are the same'

# ---- what is told agrees
FAKE_JITTER=0.01 FAKE_PLACEMENT=0.05 run d2k-time --precision 0.1 --max-time 0.01 in
is "$(of '.timing | [.ended_by, .placements]')" '["max_time",5]' 'time is over before times of such placements are precise'
is "$(of '.timing.rounds as $n | [(.samples[], .clocks[][]) | length == $n] | unique')" '[true]' 'a sample, clocks and a placement for each round'
is "$(of '.samples.placement | [unique, (group_by(.) | map(length) | unique | length)]')" '[[0,1,2,3,4],1]' 'as many rounds in each placement'
is "$(of '[.samples.candidate, .clocks.sm_mhz.candidate] | [(.[0] | all(. == floor and . > 0)), (.[1] | unique)]')" '[true,[2000]]' 'in nanoseconds and MHz'
is "$(of 'def median: sort | (.[(length - 1) / 2 | floor] + .[length / 2 | floor]) / 2;
	. as $w | [.ns | to_entries[] | .value * $w.timing.calls == ($w.samples[.key] | median)] | unique')" '[true]' 'times are medians of the samples'
is "$(of 'def median: sort | (.[(length - 1) / 2 | floor] + .[length / 2 | floor]) / 2;
	def ratio($over): . as $s | [range($s.placement | length)] | group_by($s.placement[.]) |
		map(map($s[$over][.] / $s.candidate[.] | log) | median) | add / length | exp;
	[(.samples | ratio("baseline")) / .speedup, (.samples | ratio("expert")) / .vs_expert] | map(. * 1e9 | round)')" '[1000000000,1000000000]' \
	'ratios are means over placements of the medians in each'
is "$(of '[.speedup_ci[0] < .speedup, .speedup < .speedup_ci[1], .vs_expert_ci[0] < .vs_expert, .vs_expert < .vs_expert_ci[1]] | unique')" '[true]' \
	'within their intervals'

# ---- no place for more
fake_kernel long 300000 'EACH y[i] = factor * x[i];'
fake_record long long >in-long
FAKE_L2=16000 FAKE_JITTER=0.2 FAKE_PLACEMENT=0.05 run d2k-time --precision 0.1 --max-time 100 in-long
is "$(of '.timing | [.ended_by, .rounds, .seconds < 100]')" '["rounds",3072,true]' 'as many rounds as are kept end it before its time'

# ---- verdicts
fake_record slow right right >slower
run d2k-time --max-time 0.01 slower
is "$(of '[.speedup, .vs_expert, .verdict]')" '[0.5,0.5,"slower"]' 'slower'
fake_record right right >in-same
FAKE_JITTER=0.002 FAKE_PLACEMENT=0.0005 run d2k-time --max-time 0.01 in-same
is "$(of .verdict)" '"same"' 'the same, as far as placements let one tell'
FAKE_JITTER=0.002 FAKE_PLACEMENT=0.0005 run d2k-time --self-test --max-time 0.01 in
like "$(<err)" '^d2k-time: in:1: large: same: (1\.00|0\.99)[0-9]* \([0-9.]+ to [0-9.]+\), noise floor [0-9.e-]+ %$' '--self-test says so'
is "$(time_ '[.status, .comparable, .self_test, .baseline, .expert]')" '["correct",false,true,null,null]' 'of no other kernel, and not to be compared'
is "$(of '[(.speedup | . > 0.99 and . < 1.01), .verdict]')" '[true,"same"]' 'of twice the same kernel'
run d2k-time --self-test --max-time 0.01 in
exits 0 'which is as it must be'
# only the baseline is led in by its own module
fake_kernel apart '({ char me[32]; const char *last = getenv("LAST"); snprintf(me, sizeof(me), "%p", &call);
	long long ns = last && !strcmp(last, me) ? 80000 : 160000; setenv("LAST", me, 1); ns; })' 'EACH y[i] = factor * x[i];'
fake_kernel zeros 80000 'EACH y[i] = 0;'
fake_record apart >in-apart
fake_record zeros >in-zeros
run d2k-time --self-test --max-time 0.01 in-apart in
exits 1 'the same told apart is an error'
like "$(<err)" 'in-apart:1: large: NOT the same: ' 'that is told'
is "$(jq -c '.time | [.status, .workloads[0].verdict]' out | tr '\n' ' ')" '["correct","slower"] ["correct","same"] ' 'and the records have their sections'
run d2k-time --self-test --max-time 0.01 in-zeros
exits 1 'so is what could not be timed'
jq -c '.build.status = "syntax_error"' in >in-unbuilt
run d2k-time --self-test in-unbuilt
exits 1 'or not even built'

# ---- what there is nothing to compare with
run d2k-time --max-time 0.01 in-same
is "$(time_ '[.status, .speedup, .vs_expert, .expert]')" '["correct",1,null,null]' 'without an expert'
is "$(of '[.ns.expert, .vs_expert, .vs_expert_ci, .message, (.samples | has("expert"))]')" '[null,null,null,"expert not timed: no bundle",false]' 'nothing is said of one'
fake_record right >alone
run d2k-time --max-time 0.01 alone
is "$(time_ '[.status, .speedup, .vs_expert]')" '["correct",null,null]' 'without a baseline, too'
is "$(of '[.ns.candidate, .ns.baseline, .speedup, .speedup_ci, .verdict]')" '[80000,null,null,null,null]' 'there is a time and no ratio'

# ---- several workloads
fake_kernel sized 0 'launch->ns = n == 333 ? 40000 : 160000; EACH y[i] = factor * x[i];'
fake_record sized slow slow >sizes
run d2k-time --tier smoke --max-time 0.01 sizes
is "$(jq -c '.time | [[.workloads[] | .id, .speedup], .speedup, .comparable]' out)" '[["small",1,"odd",4],2,false]' 'the whole is the geometric mean'
run d2k-time --tier smoke --workload odd --max-time 0.01 --seeds 2 sizes
is "$(jq -c '.time | [[.workloads[].id], .speedup, (.seeds | length)]' out)" '[["odd"],4,2]' '--workload and --seeds'
fake_kernel sized 160000 ' EACH y[i] = n == 333 ? 0 : factor * x[i];'
fake_record sized slow slow >sizes
run d2k-time --tier smoke --max-time 0.01 sizes
is "$(jq -c '.time | [.status, [.workloads[] | .status], .workloads[0].speedup, .speedup, .vs_expert]' out)" '["wrong",["correct","wrong"],1,null,null]' \
	'there is none where one is wrong'

# ---- a device that is disturbed
disturbed() { # STATE REASON NAME
	FAKE_STATE=$1 run d2k-time --max-time 0.01 in
	exits 0 "$3"
	is "$(time_ '[.status, .speedup, .vs_expert]')" '["noisy",null,null]' "$3: noisy"
	like "$(time_ .reason)" "^\"large: $2\"\$" "$3: why"
	is "$(of '[.ns[], .speedup, .speedup_ci, .vs_expert, .verdict, .roofline, .samples, .clocks] | unique')" '[null]' "$3: no number"
}
disturbed '0 reasons=8,sm=1000' '30 of 30 rounds dropped: the device was throttled' 'throttled all the time'
is "$(of '.timing | [.dropped, .dropped_for, .rounds]')" '[30,["hw_slowdown"],0]' 'all is dropped and counted'
disturbed '0 others=1' '30 of 30 rounds dropped: the device was shared with another process' 'shared all the time'
is "$(of '.timing | [.dropped, .dropped_for, .shared]')" '[30,[],true]' 'all is dropped and counted'
disturbed '0 reasons=0; 60 reasons=32' '[0-9]+ of 30 rounds dropped: the device was throttled' 'from some time on'
FAKE_STATE='0 reasons=0; 60 reasons=64,sm=500; 68 reasons=0,sm=2000' run d2k-time --precision 0.1 --max-time 60 in
is "$(time_ '[.status, .speedup, .vs_expert]')" '["correct",2,1.25]' 'throttled for a while: the rest is enough'
is "$(of '.timing | [.dropped > 0, .dropped_for, (.dropped + .rounds - 3 * .placements) % 3]')" '[true,["hw_thermal"],0]' 'what is dropped is counted'
is "$(of '.timing.rounds as $n | [(.samples[], .clocks[][]) | length == $n] | unique')" '[true]' 'and is not among the samples'
FAKE_STATE='0 reasons=4,sm=1000' run d2k-time --max-time 0.01 in
is "$(time_ '[.status, .speedup]')" '["correct",2]' 'the power limit disturbs nothing'
is "$(of '[.ns.candidate, .timing.clocks_held_by, .timing.dropped, (.clocks.sm_mhz.candidate | unique)]')" '[160000,["power_cap"],0,[1000]]' 'but is told, with the clocks'
FAKE_PIDS=hidden FAKE_STATE='0 others=1' run d2k-time --max-time 0.01 in
is "$(time_ '[.status, .device.other_processes]')" '["correct",null]' 'processes that cannot be seen are not known'
FAKE_PIDS=foreign run d2k-time --max-time 0.01 in
is "$(time_ '[.status, .device.other_processes]')" '["correct",0]' 'its own is known in a namespace of pids of its own'
FAKE_PIDS=foreign FAKE_STATE='0 others=2' run d2k-time --max-time 0.01 in
is "$(time_ '[.status, .device.other_processes]')" '["noisy",2]' 'and told from others'

# ---- less time than it takes: 64000 bytes at the device's bandwidth
floor=$(of '.floor_ns | floor')
ok test "$floor" -gt 40000 -a "$floor" -lt 80000 -- 'the floor is known of a noisy record, too'
fake_kernel fast "($floor * 0.96)" 'EACH y[i] = factor * x[i];'
fake_record fast slow slow >below
run d2k-time --max-time 0.01 below
is "$(time_ '[.status, .speedup, .vs_expert]')" '["invalid",null,null]' 'a time below the floor is none'
like "$(time_ .reason)" "^\"large: [0-9]+ ns is less than the device needs for the task's least traffic and arithmetic \($floor ns\)" 'which is said'
is "$(of '[.ns[], .speedup, .verdict, .samples] | unique')" '[null]' 'and no number is given'
fake_kernel fast "($floor * 0.98)" 'EACH y[i] = factor * x[i];'
fake_record fast slow slow >above
run d2k-time --max-time 0.01 above
is "$(time_ .status)" '"correct"' 'within the peaks'"'"' own error it is one'
t_done
