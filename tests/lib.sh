# shellcheck shell=bash
# What the tests/*.t share: TAP, a scratch folder, and running a program without a pipe around it.
#
#     . "$(dirname "$0")/lib.sh"
#     t_dir                                  # a scratch folder, entered, removed at the end; D2K_STORE inside it
#     t_scratch                              # the same, with the store of the project (or of the caller)
#     needs_sandbox                          # skips the whole file where bubblewrap does not work
#     run d2k-x --redo <in.jsonl             # output in ./out, messages in ./err, exit status in $status
#     exits 1 'a bad line is reported'       # the status is 1 (and the program was not killed by a signal)
#     like "$(<err)" '<stdin>:3: .*NUL' 'the message names the line'
#     is "$(jq -r .build.status out)" ok 'status'
#     same out wanted 'byte for byte'
#     ok test -s file -- 'any command that succeeds'
#     skip 'reason' 'name'                   # what cannot be tested here
#     t_done                                 # the plan; without it the test counts as broken
#
# The tools of $D2K_BIN (default bin/) come first in PATH; $D2K_BUILD (default build/) holds the test programs.
set -u
D2K_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export D2K_ROOT D2K_BIN=${D2K_BIN:-$D2K_ROOT/bin} D2K_BUILD=${D2K_BUILD:-$D2K_ROOT/build}
export PATH=$D2K_BIN:$PATH LC_ALL=C.UTF-8
# a sanitizer's report is no exit status of ours
export ASAN_OPTIONS=exitcode=99 UBSAN_OPTIONS=exitcode=99:print_stacktrace=1
t_count=0 t_failed=0 status=0

t_scratch() {
	T_SCRATCH=$(mktemp -d "${TMPDIR:-/tmp}/d2k-test.XXXXXX")
	trap 'cd / && rm -rf --one-file-system "$T_SCRATCH"' EXIT
	cd "$T_SCRATCH" || exit 1
}

t_dir() {
	t_scratch
	export D2K_STORE=$T_SCRATCH/store
}

needs_sandbox() {
	bwrap --ro-bind / / true 2>/dev/null || skip_all "bubblewrap does not work here"
}

# t_report STATUS NAME [GOT WANTED]
t_report() {
	t_count=$((t_count + 1))
	if [ "$1" = 0 ]; then
		echo "ok $t_count - $2"
		return 0
	fi
	t_failed=$((t_failed + 1))
	echo "not ok $t_count - $2"
	[ $# -lt 4 ] || printf '%s\n' "got: $3" "wanted: $4" | cut -c1-2000 | sed 's/^/# /'
	return 1
}

ok() {
	local command=()

	while [ "$1" != -- ]; do
		command+=("$1")
		shift
	done
	"${command[@]}"
	t_report $? "$2" "status $?" "success of: ${command[*]}"
}

is() {
	[ "$1" = "$2" ]
	t_report $? "$3" "$1" "$2"
}

# like TEXT EXTENDED-REGEX NAME
like() {
	[[ $1 =~ $2 ]]
	t_report $? "$3" "$1" "text matching $2"
}

unlike() {
	! [[ $1 =~ $2 ]]
	t_report $? "$3" "$1" "no text matching $2"
}

same() {
	cmp -s "$1" "$2"
	t_report $? "$3" "$(cmp "$1" "$2" 2>&1)" "$1 and $2 equal"
}

run() {
	status=0
	"$@" >out 2>err || status=$?
}

exits() {
	[ "$status" = "$1" ]
	t_report $? "$2" "status $status: $(tail -n 20 err)" "status $1"
}

skip() {
	t_count=$((t_count + 1))
	echo "ok $t_count - $2 # SKIP $1"
}

# The whole file cannot be tested here.
skip_all() {
	echo "1..0 # SKIP $1"
	exit 0
}

t_done() {
	echo "1..$t_count"
	exit $((t_failed > 0))
}
