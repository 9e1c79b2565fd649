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

fake_edited '.plans[].buffers += [{name: "much", bytes: 400000000, role: "scratch"}]' right right >in
comes fault '^large: its scratch leaves room for [01] sets of buffers, too few to be timed' 'scratch that leaves no room'

# ---- sets too small for L2: 640 take some 54 MB, and four times L2 is 64 MB
fake_kernel own 10000 'static char *first, was;
	char *far;
	EACH y[i] = factor * x[i];
	first = !first || (char *)x < first ? (char *)x : first;
	far = first + 60000000;
	if (load > 3 && call > 1000 && *far != was) {
		FILE *f = fopen("wiped", "a");
		fprintf(f, "%ld %d\n", load, was = *far);
		fclose(f);
	}'
fake_record own right >in
FAKE_L2=16777216 run d2k-time --max-time 0.2 <in
is "$(jq -r '.time.status' out)" correct 'sets too small for L2: timed'
is "$(jq '.time.workloads[0].timing | .calls + .lead_calls' out)" 640 'as many as a graph may have'
is "$(($(sort -u wiped | wc -l) >= 5))" 1 'and memory beside them is wiped with them'

# ---- global scratch of a kernel's own: two launches of 8 times 2 CTAs with 100 bytes each
owns() { # STATEMENTS
	fake_kernel own 10000 "char *own = *(char **)launch->params[4]; EACH y[i] = factor * x[i]; $1"
	fake_edited '(.kernels[] |= . + {num_ctas: 2, global_scratch_size: 100}) | .plans[].steps |= . + .' own right >in
}
past() { # STATEMENTS REASON NAME
	owns "$1"
	comes wrong "$2" "$3"
}
# marks every word, and tells those it found first and last: before load 4 laps are also run to warm up, without wiping
owns 'long *word = (long *)own, first = word[0], last = word[199];
	for (int i = 0; i < 200; word[i++] = 4711)
		if (word[i] == 4711) EACH y[i] = 0;
	if (load > 3) {
		FILE *f = fopen("found", "a");
		fprintf(f, "%ld %ld %ld %ld %lx %lx\n", load, x, y + n, own, first, last);
		fclose(f);
	}'
run d2k-time --max-time 0.2 <in
is "$(jq -c '.time | [.status, .workloads[0].timing.examined > 0]' out)" '["correct",true]' 'all of its own scratch may be used, and no mark lasts in it'
cut -d' ' -f1-4 found | sort -u -k1,1n -k2,2n -k4,4n >places
is "$(awk '{ print $4 - $2 }' places | sort -u | wc -l)" 2 'each launch has its own, at one place in every set'
is "$(awk '$4 % 512 || $4 < $3 + 4096 || $1 == load && ($2 == x ? $4 : $2) < end + 4096 { bad++ }
	{ load = $1; x = $2; end = $4 + 1600 } END { print (NR > 16), bad + 0 }' places)" '1 0' \
	'behind the tensors of its set and in front of the next, with guard bands between'
ok test "$(wc -l <found)" -gt "$((2 * $(wc -l <places)))" -- 'sets are used again'
is "$(cut -d' ' -f5,6 found | tr ' ' '\n' | sort | uniq -d | wc -l)" 0 'but never hold the same poison twice'
past 'own[1600] ^= 1;' '^large: wrote past the end of kernel \(about 0 bytes behind it\)' 'writing behind its own scratch'
past 'own[-1] ^= 1;' '^large: wrote past the end of y' 'in front of it'
past 'if (load > 2) own[1600 + 4095] ^= 1;' 'wrong when timed: wrote past the end of kernel' 'far behind it, but not when checked'
t_done
