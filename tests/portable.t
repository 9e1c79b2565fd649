#!/bin/bash
# make portable: bin/ carried to a host that has glibc and nothing else. The host is a root of its own, in which only
# the C library, bin/ and what the kernel provides can be seen.
# shellcheck disable=SC2317 # functions are called through ok
. "$(dirname "$0")/lib.sh"
t_dir

bwrap --ro-bind / / true 2>/dev/null || skip_all "bubblewrap does not work here"
san=()
[[ $D2K_BUILD != *-san ]] || san=(SAN=1)
run make -s -C "$D2K_ROOT" portable BIN="$PWD/bin" BUILD="$D2K_BUILD" "${san[@]}"
exits 0 "make portable"

# What the tools take from the system even so must be glibc's own.
ldd bin/d2k-* | awk '$3 ~ /^\// { print $3 }' | sort -u >needed
glibc=()
while IFS= read -r file; do
	[[ $file == "$PWD"/bin/lib/* ]] || glibc+=(--ro-bind "$(realpath "$file")" "$file")
	[[ $file == "$PWD"/bin/lib/* ]] || basename "$file"
done <needed >from_system
is "$(grep -vE '^lib(c|m|dl|rt|pthread|resolv)\.so\.' from_system)" "" "only glibc is taken from the system"

# host COMMAND...: runs it on the bare host.
mkdir -p host/{d2k,lib64,proc,dev,tmp}
loader=/lib64/ld-linux-x86-64.so.2
host() {
	bwrap --bind host / --ro-bind "$(realpath "$loader")" "$loader" "${glibc[@]}" --ro-bind bin /d2k \
		--proc /proc --dev /dev --unshare-all --clearenv --setenv PATH /d2k --chdir /tmp "$@"
}

ok test ! -e host/usr -- "the host has no /usr"
for tool in d2k-prompt d2k-agent d2k-build d2k-time d2k-judge d2k-score; do
	run host "$tool" --version
	exits 0 "$tool starts there"
done

# Without a GPU there, a built record comes back as it was, and the exit status says: later.
echo '{"id":"0123456789abcdef","task":"none",  "x":0.30000000000000004,"build":{"status":"ok","bundle":null}}' >in.jsonl
run host d2k-time <in.jsonl
exits 75 "d2k-time there, without a GPU: try again later"
same out in.jsonl "the record passes through byte for byte"
like "$(<err)" "^d2k-time: " "and why is said"
ok test "$(grep -c . err)" -le 2 -- "briefly"
t_done
