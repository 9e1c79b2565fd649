#!/bin/bash
# The sandbox: what a program in it sees, what it may use up, and that nothing of it stays behind.
# shellcheck disable=SC2016 # what stands in single quotes is for the shell inside
. "$(dirname "$0")/lib.sh"
t_dir
box() { run "$D2K_BUILD/tests/d2k-sandbox" "$@"; }

box -- true
[ "$status" != 99 ] || skip_all "$(<err)"
exits 0 'a program runs'
box -- sh -c 'exit 5'
exits 5 'its exit status comes back'

SECRET=key box -- env
is "$(sort out)" $'PATH=/usr/local/bin:/usr/bin:/bin\nPWD=/tmp' 'the environment is empty but for PATH'
SECRET=key box -- sh -c 'cat /proc/*/environ 2>/dev/null | tr "\0" "\n"'
unlike "$(<out)" SECRET 'nor does any process in it show ours'
box env:it -- sh -c 'echo $GIVEN'
is "$(<out)" it 'and what is set by name'
box -- sh -c "ls -d $D2K_ROOT $HOME $PWD /var /home /root /opt /srv /mnt 2>/dev/null"
is "$(<out)" '' 'no project, no home, no /var'
box -- sh -c 'ls /proc | grep -c "^[0-9]"'
ok test "$(<out)" -le 4 -- 'no other processes'
box -- sh -c 'grep CapEff /proc/self/status; id -u; grep NoNewPrivs /proc/self/status'
like "$(<out)" '^CapEff:.0000000000000000' 'no capabilities'
unlike "$(<out)" $'\n0\n' 'not root'
like "$(<out)" 'NoNewPrivs:.1' 'and no way to become it'
box -- sh -c 'touch /x /usr/x /etc/x /proc/sys/kernel/hostname /dev/x /dev/shm/x 2>/dev/null
	ls /x /usr/x /etc/x /dev/x /dev/shm/x 2>/dev/null; echo to >/dev/null || echo no null'
is "$(<out)" '' 'the system is read-only'
box -- sh -c 'echo > /tmp/scratch && ls /tmp'
is "$(<out)" scratch '/tmp is private and writable'
ok test ! -e /tmp/scratch -- 'and gone afterwards'
box -- bash -c 'exec 5<>/dev/tcp/127.0.0.1/1 || exit 3; exit 0'
exits 3 'no network'
box -- sh -c 'ls /sys/class/net 2>/dev/null; cat /proc/net/dev | tail -n +3 | cut -d: -f1 | tr -d " "'
is "$(<out)" lo 'nor any device of it but the private loopback'

mkdir ws && echo 1 >ws/a && mkdir given && echo g >given/f && ln -s "$PWD/given" ws/link
box "rw:$PWD/ws" "ro:$PWD/given" -- sh -c 'echo 2 >>/work/a; echo n >/work/new; cat /given/f; echo >>/given/f'
is "$(<out)" g 'what is bound can be read'
is "$(cat ws/a ws/new)" $'1\n2\nn' 'and written where it is bound for writing'
is "$(cat given/f)" g 'and nowhere else'
is "$(stat -c %u given given/f)" "$(id -u)"$'\n'"$(id -u)" 'links out of a writable folder are not followed'
box "rw:$PWD/ws" -- sh -c 'rm /work/a && rm /work/new'
exits 0 'another run of another process may write there too'

box as:200000000 -- sh -c 'x=$(head -c 400000000 /dev/zero | tr "\0" x); echo ${#x}'
ok test "$status" != 0 -- 'memory is limited'
box fsize:1000 -- sh -c 'head -c 5000 /dev/zero >/tmp/x; stat -c %s /tmp/x'
is "$(<out)" 1000 'file size is limited'
box nproc:12 -- sh -c 'i=0; while [ $i -lt 30 ]; do sleep 3 & i=$((i + 1)); done; echo thirty'
is "$(<out)" '' 'processes are limited'
like "$(<err)" [Ff]ork 'at the one too many'
box cpu:1 timeout:20 -- sh -c 'while :; do :; done'
ok test "$status" -gt 128 -- 'CPU time is limited'
box -- sh -c 'dd if=/dev/zero of=/tmp/x bs=1M count=600 2>/dev/null; stat -c %s /tmp/x'
ok test "$(<out)" -le 536870912 -- '/tmp cannot fill the memory'

start=$SECONDS
box timeout:1 -- sh -c 'setsid sleep 4711 & trap "" TERM INT HUP; sleep 4711'
exits 124 'a time-out is told'
ok test $((SECONDS - start)) -lt 5 -- 'in time'
sleep 0.2
ok bash -c '! pgrep -f "^sleep 4711"' -- 'and ends what ran in a session of its own'
box -- sh -c 'setsid sleep 4712 >/dev/null 2>&1 & exit 0'
sleep 0.2
ok bash -c '! pgrep -f "^sleep 4712"' -- 'so does the end of the program'

"$D2K_BUILD/tests/d2k-sandbox" -- sleep 4713 &
pid=$!
sleep 0.5
kill -9 $pid
wait $pid 2>/dev/null
sleep 0.2
ok bash -c '! pgrep -f "^sleep 4713"' -- 'even if it is killed that started it'

if [ -x "$D2K_ROOT/.venv/bin/python3" ]; then
	box python -- "$D2K_ROOT/.venv/bin/python3" -c 'import triton; print(triton.__version__)'
	is "$(<out)" 3.9.0 'Python and Triton can be bound'
	box python -- sh -c "ls -A $D2K_ROOT"
	is "$(<out)" .venv 'without the project around them'
else
	skip 'no .venv' 'Python and Triton can be bound'
fi

if [ "$(id -u)" = 0 ] && setpriv --reuid 12345 --clear-groups --regid 12345 -- test -x "$D2K_BUILD/tests/d2k-sandbox"; then
	cp "$D2K_BUILD/tests/d2k-sandbox" box && chmod 755 . box && mkdir -m 777 mine
	run setpriv --reuid 12345 --clear-groups --regid 12345 -- ./box "rw:$PWD/mine" -- sh -c 'echo n >/work/f; grep CapEff /proc/self/status'
	if [ "$status" = 99 ]; then
		skip "$(<err)" 'an ordinary user gets a sandbox'
	else
		like "$(<out)" '^CapEff:.0000000000000000' 'an ordinary user gets a sandbox'
		is "$(stat -c %u mine/f)" 12345 'whose files are his'
		run setpriv --reuid 12345 --clear-groups --regid 12345 -- ./box -- \
			sh -c 'touch /x /dev/x /dev/shm/x 2>/dev/null; ls /x /dev/x /dev/shm/x 2>/dev/null; echo to >/dev/null || echo no null'
		is "$(<out)" '' 'and where nothing but /tmp can be written'
		SECRET=key run setpriv --reuid 12345 --clear-groups --regid 12345 -- ./box -- \
			sh -c 'cat /proc/*/environ 2>/dev/null | tr "\0" "\n"'
		unlike "$(<out)" SECRET 'and that does not show his environment'
		like "$(<out)" PATH 'although it can be read'
	fi
fi
t_done
