#!/bin/bash
# The verdict of tests/bench/aa on records made up here: what it counts, and that it fails when it should.
. "$(dirname "$0")/lib.sh"
t_dir
aa=$D2K_ROOT/tests/bench/aa

# records TEST RUNS LOW HIGH VERDICT: as many records of one kernel, with that interval of the ratio to the baseline
records() {
	jq -cn --arg test "$1" --argjson runs "$2" --argjson low "$3" --argjson high "$4" --arg verdict "$5" '
		range($runs) | {bench: {test: $test, precision: 0.5, run: .}, task: "rows", time: {seconds: 1, workloads: [
		{id: "row-16", status: "correct", ns: {candidate: 2000, baseline: 2000}, verdict: $verdict,
		 speedup: (if $low then ($low + $high) / 2 else null end), speedup_ci: (if $low then [$low, $high] else null end),
		 timing: {placements: 6, ended_by: "precision"}}]}}'
}
total() { # of the last table
	grep -E '\*\*all\*\*' out | tail -n 1
}

records aa 20 0.997 1.002 same >same
run "$aa" summary same
exits 0 'all intervals hold 1'
like "$(total)" '\| 20 \| 0 \| 0 % .*20 same .*passes' 'and that is counted'

{ records aa 19 0.997 1.002 same; records aa 1 1.001 1.004 same; } >in
run "$aa" summary in
exits 0 'one of twenty may miss it'
like "$(total)" '\| 20 \| 1 \| 0.1 % ' 'by how much is told'
{ records aa 18 0.997 1.002 same; records aa 2 1.001 1.004 same; } >in
run "$aa" summary in
exits 1 'two of twenty may not'
like "$(total)" 'FAILS' 'which is said'
{ records aa 19 0.997 1.002 same; records aa 1 0.994 0.997 same; } >in
run "$aa" summary in
exits 1 'nor one by more than 0.2 %'
like "$(total)" '\| 1 \| 0.3 % ' 'below 1 as above'
{ records aa 19 0.997 1.002 same; records aa 1 0.997 1.002 faster; } >in
run "$aa" summary in
exits 1 'a verdict other than same'
{ cat same; records aa 1 null null same; } >in
run "$aa" summary in
exits 1 'a run without an interval'
{ cat same; records aa 1 1 1 same | jq -c '.time.workloads[0].status = "noisy"'; } >in
run "$aa" summary in
exits 1 'a run that was not correct'

records ab 20 0.987 0.993 slower >slower
{ cat slower; records long 1 0.9895 0.9905 slower; } >in
run "$aa" summary in
exits 0 'A/B: all slower'
like "$(grep row-16 out)" '\| 1\.01 % \(0\.959 to 1\.061\)' 'by how much, from the long run'
{ cat slower; records ab 2 0.987 0.993 same; } >in
run "$aa" summary in
exits 1 'A/B: two of 22 are not'
{ cat slower; records ab 1 0.987 0.993 same; } >in
run "$aa" summary in
exits 0 'A/B: one of 21 may be'

run "$aa" summary </dev/null /dev/null
exits 1 'no records'
run "$aa" run nowhere results
exits 1 'a folder that is not prepared'
like "$(<err)" 'make bench-prepare' 'says what to do'
t_done
