#!/bin/bash
# One d2k-time at a time on a GPU: waiting in line, any of several GPUs, and how the wait ends. On GPUs that are not there.
# shellcheck disable=SC2317 # functions are called through until_
. "$(dirname "$0")/lib.sh"
# shellcheck source=fake.sh
. "$D2K_ROOT/tests/fake.sh"
fake_dir
export FAKE_DEVICES=2
fake_peaks 0 1

fake_kernel right 10000 'EACH y[i] = factor * x[i];'
fake_kernel wrong 10000 'EACH y[i] = x[i];'
# holds its GPU until the file `go` is there, for a minute at most
fake_kernel holds 10000 'for (int i = 0; i < 600 && access("go", F_OK); i++) { close(creat(getenv("HOLDS"), 0600)); usleep(100000); }'
fake_record wrong right right >in
fake_record holds right right >held

# until COMMAND...: as soon as it succeeds; a minute at most
until_() {
	local i

	for ((i = 0; i < 1200; i++)); do
		"$@" 2>/dev/null && return 0
		sleep 0.05
	done
	return 1
}
# start NAME COMMAND...: in the background; `wait_for NAME` has its status in $status, NAME.out and NAME.err
declare -A pid
start() {
	"${@:2}" >"$1.out" 2>"$1.err" &
	pid[$1]=$!
}
wait_for() {
	status=0
	wait "${pid[$1]}" || status=$?
	cp "$1.err" err
}
says() { grep -q "$2" "$1.err"; }
waited() { jq "$1" "$2.out"; }
# hold DEVICE NAME: a d2k-time that has it, whose worker is process $holder
hold() {
	HOLDS=$PWD/holds.$2 start "$2" d2k-time --device "$1" held
	until_ test -e "holds.$2" || echo "# $2 does not hold GPU $1: $(<"$2.err")"
	holder=$(ps -o pid= --ppid "${pid[$2]}" | tr -d ' ')
}

run d2k-time --device 7 in
exits 75 'a GPU that is not there'
same out in 'the record passes'
like "$(<err)" '^d2k-time: in:1: no GPU to time on: there is no GPU 7: the CUDA driver has 2, counted from 0 ' 'and it is said which there are'
run d2k-time --calibrate --device 7
exits 75 'nor can it be measured'
like "$(<err)" 'there is no GPU 7' 'which is said, too'

# ---- one GPU is held
hold 0 first
first=$holder
is "$(cat d2k-gpu-*00.lock)" "$first" 'the lock has the holder'"'"'s number'
start line1 d2k-time --timeout 2 in
start line2 d2k-time in
start stopped d2k-time in
start terminated d2k-time in
for name in line1 line2 stopped terminated; do
	until_ says "$name" "waiting for GPU 0, held by process $first\$"
	is "$(grep -v measuring "$name.err")" "d2k-time: waiting for GPU 0, held by process $first" "$name waits, and says for whom"
done
begun=$(date +%s%N)
run d2k-time --device any in
is "$(jq -c '.time | [.status, .device.ordinal, .waited_seconds == 0]' out)" '["wrong",1,true]' 'any takes the one that is free'
is "$(wc -l <err)" 0 'without a wait'
kill -INT "${pid[stopped]}"
wait_for stopped
exits 75 'an interrupt while waiting ends it'
same stopped.out in 'the record passes'
kill -TERM "${pid[terminated]}"
wait_for terminated
exits 75 'so does a request to end'
same terminated.out in 'the record passes'

# ---- both are
hold 1 second
second=$holder
start any d2k-time --device any in
until_ says any 'waiting for'
like "$(<any.err)" "^d2k-time: waiting for GPU 0, held by process $first, or GPU 1, held by process $second\$" 'any waits when none is free'
kill -KILL "${pid[second]}"
wait_for any
exits 0 'a d2k-time that is killed lets go'
is "$(jq -c '.time | [.status, .device.ordinal, .waited_seconds > 0]' any.out)" '["wrong",1,true]' 'and who waits for any gets that one'
ok until_ test ! -e "/proc/$second" -- 'its worker is gone, too'

# ---- line1 has 2 seconds, and waits for longer
while (($(date +%s%N) - begun < 2500000000)); do sleep 0.1; done
held=$((($(date +%s%N) - begun) / 1000000))
touch go
for name in line1 line2; do
	wait_for "$name"
	exits 0 "$name gets it"
	is "$(jq -r .time.status "$name.out")" wrong "$name: is not charged for the wait"
	is "$(waited ".time | .waited_seconds * 1000 >= $held and .seconds < .waited_seconds" "$name")" true "$name: which is in the record by itself"
done
wait_for first
exits 0 'the holder is done'
is "$(jq -r '.time | .status, .waited_seconds' first.out | xargs)" 'wrong 0' 'and did not wait'
run d2k-time in
is "$(wc -l <err)" 0 'nobody holds it any more'

# ---- what else may lie where the lock is
rm d2k-gpu-*
ln -s "$PWD/elsewhere" "$(basename d2k-gpu-GPU-61206661-6b65-2c20-6e6f-74206f6e6500.lock)"
run d2k-time in
exits 75 'a lock that is a link is not followed'
ok test ! -e elsewhere -- 'nothing is written there'
like "$(<err)" "cannot open '.*\.lock'" 'why'
run d2k-time --device any in
is "$(jq -r '.time.device.ordinal' out)" 1 'any takes another'
rm d2k-gpu-*
lock=d2k-gpu-GPU-61206661-6b65-2c20-6e6f-74206f6e6500.lock
echo 'no number' >$lock
(flock 9 && exec sleep 60) 9<$lock &
stranger=$!
until_ sh -c "! flock -n $lock true"
start stranger d2k-time in
until_ says stranger 'waiting for GPU 0, held by another process$'
is "$(<stranger.err)" 'd2k-time: waiting for GPU 0, held by another process' 'a lock without a number'
kill "$stranger"
wait_for stranger
exits 0 'is waited for all the same'
t_done
