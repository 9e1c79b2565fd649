#!/bin/bash
# Runs every unit test in C (tests/unit/*.c, built by `make units`); each prints TAP of its own, shown where it fails.
. "$(dirname "$0")/lib.sh"
t_dir

for source in "$D2K_ROOT"/tests/unit/*.c; do
	name=$(basename "$source" .c)
	[[ $name != d2k-* ]] || continue # a tool made for other tests
	run "$D2K_BUILD/tests/$name"
	checks=$(grep -c '^ok' out)
	if ! exits 0 "$name: $checks checks hold"; then
		grep -A2 '^not ok' out | sed 's/^/# /'
	fi
	is "$(tail -n 1 out)" "1..$checks" "$name: ran to its end"
done
t_done
