#!/bin/bash
# What a kernel could hide in memory, and what it may do to the tool, on a GPU that is not there.
. "$(dirname "$0")/lib.sh"
# shellcheck source=fake.sh
. "$D2K_ROOT/tests/fake.sh"
fake_dir
fake_kernel right 10000 'EACH y[i] = factor * x[i];'

# comes STATUS REASON NAME [OPTION...]: the record in `in`
comes() {
	run d2k-time --max-time 0.2 "${@:4}" <in
	exits 0 "$3"
	is "$(jq -r '.time | .status, .speedup' out | xargs)" "$1 null" "$3: $1"
	like "$(jq -r .time.reason out)" "$2" "$3: why"
}

# does STATEMENTS STATUS REASON NAME
does() {
	fake_kernel own 10000 "EACH y[i] = factor * x[i]; $1"
	fake_record own right >in
	comes "${@:2}"
}

fake_record right right >in
run d2k-time --max-time 0.2 <in
exits 0 'an honest one'
is "$(jq '.time.workloads[0].timing.examined > 0' out)" true 'some of its timed calls were examined'

# a set is followed by some 4 KiB of guard, then by nobody's memory
behind='((char *)y)[4 * n + 30000]'
does "$behind ^= 1;" wrong 'right when checked, wrong when timed: .*wrote outside of its buffers' 'writing between sets'
does "if ($behind == 77) EACH y[i] = 0; $behind = 77;" wrong 'wrote outside of its buffers|output y' 'counting between sets'
does 'if (load > 2) ((char *)y)[4 * n + 4000] ^= 1;' wrong 'wrong when timed: wrote past the end of y' 'writing into a guard band, but not when checked'
does 'if (load > 2) y[n - 1] = -y[n - 1];' wrong 'wrong when timed: output y: 1 of 1000 elements wrong' 'one element wrong, but not when checked'
does 'if (load > 2) x[7] = 0;' wrong 'wrong when timed: .*changed the input x' 'an input changed, but not when checked'
does 'if (y[3] == 4711) EACH y[i] = 0; y[n] = 4711;' wrong 'wrote past the end of y' 'a mark behind its output'

does 'raise(SIGTRAP);' fault 'large: the process that loaded or launched it died \(signal 5\)' 'a launch that takes the process with it'
fake_kernel own 10000 'EACH y[i] = factor * x[i]; raise(SIGTRAP);'
fake_record right own >in
comes tool_error 'its process ended early \(signaled 5\)' "a launch of the task's own that does"

fake_record right right >good
fake_bundle right | jq -cj '.plans[].buffers += [{name: "much", bytes: 400000000, role: "scratch"}]' >own.json
jq -c --arg h "$(sha256sum <own.json | cut -d' ' -f1)" --slurpfile b own.json '.build.bundle = $h | .build.bundles[$h] = $b[0]' good >in
comes fault '^large: its scratch leaves room for [01] sets of buffers, too few to be timed' 'scratch that leaves no room'
t_done
