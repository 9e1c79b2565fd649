#!/bin/bash
# Kernels that are wrong, that write where they must not, or that do their work only now and then, on a GPU that is not there.
# (What could be hidden in memory between calls: time-hide.t.)
. "$(dirname "$0")/lib.sh"
# shellcheck source=fake.sh
. "$D2K_ROOT/tests/fake.sh"
fake_dir
fake_few
fake_peaks 0
fake_kernel right 80000 'EACH y[i] = factor * x[i];'

# does STATEMENTS REASON NAME
does() {
	fake_kernel own 80000 "$1"
	fake_record own right right >in
	run d2k-time --max-time 0.01 in
	exits 0 "$3"
	is "$(jq -c '.time | [.status, .speedup, .vs_expert, (.workloads[] | .ns[], .speedup, .verdict, .samples)] | unique' out)" '[null,"wrong"]' "$3: wrong, without a time"
	like "$(jq -r .time.reason out)" "^large: $2" "$3: why"
}
timed='right when checked, wrong when timed: '

# ---- at once
does 'EACH y[i] = factor * x[i] * 1.0001f;' 'output y: ' 'slightly wrong everywhere'
does ';' 'output y: ' 'nothing at all'
does 'EACH if (i) y[i] = factor * x[i];' 'output y: 1 of 8000 elements' 'the first element left as it was'
does 'EACH if (i < n - 1) y[i] = factor * x[i];' 'output y: 1 of 8000 elements' 'the last'
does 'EACH if (i % 64) y[i] = factor * x[i];' 'output y: 125 of 8000 elements' 'every 64th'
does 'EACH if (y[i] != y[i]) y[i] = factor * x[i];' 'output y: ' 'work where there was NaN'
does 'EACH y[i] = factor * x[i]; y[17] = NAN;' 'output y: 1 of 8000 elements' 'one NaN'
does 'EACH y[i] = factor * x[i]; y[n] = 1;' 'wrote past the end of y' 'behind an output'
does 'EACH y[i] = factor * x[i]; y[n + 900] = 1;' 'wrote past the end of y' 'far behind it'
does 'EACH y[i] = factor * x[i]; y[-1] = 1;' 'wrote past the end of x' 'in front of it'
does 'EACH y[i] = factor * x[i]; x[-1] = 1;' 'wrote (in front of|before) x' 'in front of an input'
does 'EACH y[i] = factor * x[i]; x[n] = 1;' 'wrote past the end of x' 'behind an input'
does 'EACH { y[i] = factor * x[i]; x[i] = -0.0f; }' '.*changed the input x' 'inputs overwritten'
does 'EACH y[i] = factor * x[i]; x[n - 1] = nextafterf(x[n - 1], 9);' '.*changed the input x' 'an input changed by its last bit'
does 'EACH y[i] = factor * x[i]; if (call > 1) y[5] = 0;' 'output y: 1 of 8000 elements' 'right once'
is "$(jq '.time.workloads[0].seed == .time.seeds[1]' out)" true 'and wrong with the second seed'
does 'static float first; if (call == 1) first = x[0]; EACH y[i] = factor * x[i] + (x[0] != first);' 'output y: ' 'right for the first data'

# ---- when timed
does "if (call < 5) EACH y[i] = factor * x[i];" "${timed}output y: " 'right in the first calls'
does "if (load < 2 || call < 2) EACH y[i] = factor * x[i];" "${timed}output y: " 'right when checked, and in the first call of each placement'
does "EACH y[i] = factor * x[i]; if (call > 5) y[n / 2] += 1e-3f;" "${timed}output y: 1 of 8000 elements" 'one element, in later calls'
does "EACH if (call < 5 || i) y[i] = factor * x[i];" "${timed}output y: 1 of 8000 elements" 'an element left as it was, in later calls'
does "EACH y[i] = factor * x[i]; if (call > 5) y[n + 1] = 1;" "${timed}wrote past the end of y" 'behind an output, in later calls'
does "EACH y[i] = factor * x[i]; if (call > 5) x[9] = 0;" "${timed}.*changed the input x" 'an input changed, in later calls'
t_done
