# shellcheck shell=bash
# What the benchmarks of d2k-time share.
#
#     . "$(dirname "$0")/lib.sh"
#     bench_open DIR OUT     # DIR as tests/bench/prepare made it; its programs, tasks and store are used from here on
#     say WORDS              # progress, on stderr, with the time of day
#     markdown <ROWS         # a table: an array a line, the first one its heading
#
# Bash 5 and jq are all that is needed beside DIR.
set -euo pipefail
export LC_ALL=C.UTF-8
bench=$(basename "$0")

say() { printf '%(%T)T %s: %s\n' -1 "$bench" "$*" >&2; }
die() {
	echo "$bench: $*" >&2
	exit 1
}

bench_open() {
	[ $# = 2 ] || die "a prepared folder and one for the results are needed; the head of $0 has the usage"
	[ -x "$1/bin/d2k-time" ] || die "'$1' is not prepared: make bench-prepare, or tests/bench/prepare $1"
	mkdir -p "$2"
	dir=$(cd "$1" && pwd)
	out=$(cd "$2" && pwd)
	rm -f "$out/$bench.log"
	export D2K_ROOT=$dir D2K_STORE=${D2K_STORE:-$dir/store} PATH=$dir/bin:$PATH
}

# timed ARGUMENT...: d2k-time, its messages into a log. No GPU ends the benchmark.
timed() {
	local log=$out/$bench.log status=0

	d2k-time "$@" 2>>"$log" || status=$?
	[ $status = 0 ] || tail -n 3 "$log" >&2
	[ $status != 75 ] || exit 75
	return $status
}

markdown() {
	jq -rn '[inputs] | def row: "| " + (map(tostring) | join(" | ")) + " |"; if length == 0 then empty
		else (.[0] | row), (.[0] | map("---") | row), (.[1:][] | row) end'
}
