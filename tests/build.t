#!/bin/bash
# d2k-build: every way a submission can end, and that it harms no record but its own.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/build.sh"
t_dir
build_root
run "$D2K_BUILD/tests/d2k-sandbox" -- true
[ "$status" = 0 ] || skip_all "$(<err)"

# a port of this host that answers, for the submission that tries to reach it
exec {listener}< <(exec "$D2K_PYTHON" -c '
import socket
s = socket.create_server(("127.0.0.1", 0))
print(s.getsockname()[1], flush=True)
while True: s.accept()[0].close()')
read -r port <&"$listener"
ok bash -c "exec 9<>/dev/tcp/127.0.0.1/$port" -- 'a port of the host answers'

# All fixtures in one stream, with records between them that must come through as they are.
names=() other='{"id":"other","task":"mini","x":0.30000000000000004,"agent":{"status":"submitted","submission":null},"build":{"mine":1}}'
for f in "$real"/tests/fixtures/build/*.py; do
	name=$(basename "$f" .py)
	[ "$name" != loop ] || continue
	names+=("$name")
	record "$name"
	echo "$other"
done >in.jsonl
SECRET=key run d2k-build --timeout 120 in.jsonl
exits 0 'failed submissions are data'
is "$(wc -l <out)" "$(wc -l <in.jsonl)" 'one line out for each line in'
is "$(sed -n 'n;p' out | sort -u)" "$other" 'the records between them came through byte for byte'
is "$(<err)" '' 'nothing on stderr'
like "$(head -n 1 out)" '"build":\{"tool":"d2k-build [0-9.]+","status":"' 'the section says which tool made it'

i=1
for name in "${names[@]}"; do
	sed -n "${i}p" out >line
	i=$((i + 2))
	wanted=$(sed -n 's/^# status: //p' "$real/tests/fixtures/build/$name.py")
	log=$(jq -r .build.log line)
	is "$(jq -r .build.status line)" "$wanted" "$name: $wanted" || printf '%s\n' "$log" | head -n 20 | sed 's/^/# /'
	while IFS= read -r pattern; do
		like "$log" "$pattern" "$name: log has /$pattern/"
	done < <(sed -n 's/^# log: //p' "$real/tests/fixtures/build/$name.py")
	is "$(jq -c '.build | [.bundle != null, (.kernels | length > 0), (.plans | length > 0), .cached]' line)" \
		"$([ "$wanted" = ok ] && echo '[true,true,true,false]' || echo '[false,false,false,false]')" \
		"$name: bundle and facts if and only if it was built"
done

record loop >in.jsonl
run d2k-build --timeout 2 in.jsonl
is "$(jq -r .build.status out)" timeout 'loop: timeout'
like "$(jq -r .build.log out)" 'not built after 2 s' 'loop: says how long it had'

ok test ! -e /tmp/written-by-submission -- 'what a submission wrote is gone'
for place in / /usr /etc "$real" "$root/tools/triton" "$D2K_STORE" "$PWD"; do
	ok test ! -e "$place/written-by-submission" -- "nothing of it in $place"
done
ok bash -c '! pgrep -fx "sleep 1000"' -- 'what it forked is gone'
ok bash -c "exec 9<>/dev/tcp/127.0.0.1/$port" -- 'what it could not reach still answers'
kill "$(pgrep -P $$ -f 'socket.create_server')" 2>/dev/null
t_done
