#!/bin/bash
# make portable: the tools carried to a host that has the C library and nothing else, and a pipeline over that host. The
# host is a root of its own, in which only glibc's files, the project's and what the kernel provides can be seen.
. "$(dirname "$0")/lib.sh"
t_scratch
needs_sandbox

# What is carried: bin/ as make portable leaves it, and what d2k-time reads.
mkdir d2k
san=()
[[ $D2K_BUILD != *-san ]] || san=(SAN=1)
run make -s -C "$D2K_ROOT" portable BIN="$PWD/d2k/bin" BUILD="$D2K_BUILD" "${san[@]}"
exits 0 "make portable"
mkdir d2k/tools
cp -r "$D2K_ROOT"/{tasks,workloads,guidance} d2k/
cp -r "$D2K_ROOT/tools/oracle" d2k/tools/

# What the tools take from the system even so must be glibc's own.
ldd d2k/bin/d2k-* | awk '$3 ~ /^\// { print $3 }' | sort -u >needed
grep -v "^$PWD/d2k/bin/lib/" needed >from_system
is "$(grep -vE '/lib(c|m|dl|rt|pthread|resolv)\.so\.' from_system)" "" "only glibc is taken from the system"

# ssh HOST COMMAND...: that host, whatever its name. The loader has its place by the x86-64 ABI.
mkdir -p shims host/{d2k,lib64,proc,dev,tmp}
{
	printf '#!/bin/bash\n# ssh, in a test: the host is a root of its own on this machine\nshift\n'
	printf 'exec bwrap --bind %q / --ro-bind %q /d2k --proc /proc --dev /dev --unshare-all --clearenv --chdir /tmp' \
		"$PWD/host" "$PWD/d2k"
	while IFS= read -r file; do
		printf ' --ro-bind %q %q' "$(realpath "$file")" "$file"
	done < <(cat from_system && echo /lib64/ld-linux-x86-64.so.2)
	# the command goes through a shell on a real host: words split
	# shellcheck disable=SC2016
	printf ' $*\n'
} >shims/ssh
chmod +x shims/ssh
export PATH=$PWD/shims:$PATH

ok test ! -e host/usr -- "the host has no /usr"
for tool in d2k-prompt d2k-agent d2k-build d2k-time d2k-judge d2k-score; do
	run ssh gpu "/d2k/bin/$tool" --version
	exits 0 "$tool starts there"
done

# Built here, bundles embedded, timed there: without a GPU the record comes back as it was, and the status says: later.
task=swiglu-dual-fp8-quant
run d2k-build --embed --tier smoke --task $task --source "$D2K_ROOT/tasks/$task/baseline.py"
exits 0 "d2k-build --embed"
mv out built.jsonl
is "$(jq -r '.build.status' built.jsonl)" ok "builds"
is "$(jq -r '.build | [.bundle, .baseline, .expert] - (.bundles | keys) | length' built.jsonl)" 0 \
	"and puts all bundles into the record"
run ssh gpu /d2k/bin/d2k-time --tier smoke <built.jsonl
exits 75 "d2k-time there, without a GPU: try again later"
same out built.jsonl "the record passes through byte for byte"
like "$(<err)" "^d2k-time: .*no GPU" "why is said"

# The whole protocol over that host: what can be done is done and kept, the rest is for later.
cat >model.jsonl <<END
{"calls":[{"name":"write","arguments":{"path":"submission.py","content":{"\$file":"$D2K_ROOT/tasks/$task/baseline.py"}}}]}
{"calls":[{"name":"submit","arguments":{}}]}
END
run "$D2K_ROOT/pipelines/paired" --gpu-host gpu:/d2k/bin --out paired --task $task --arm without \
	--model "script:$PWD/model.jsonl"
exits 75 "paired over that host: try again later"
like "$(tail -n 1 err)" "^paired: 1 trials are not finished" "which is said"
is "$(jq -r '[.agent.status, .build.status, .time.status, .judge.status] | join(" ")' paired/records.jsonl)" \
	"submitted ok  scored" "all but the timing is there"
t_done
