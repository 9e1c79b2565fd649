#!/bin/bash
# d2k-agent killed and taken up again: no finished turn is repeated, none is lost, nothing is left running.
# shellcheck disable=SC2154,SC2034,SC2119 # status, log and others come from the sourced files
. "$(dirname "$0")/lib.sh"
t_dir
. "$D2K_ROOT/tests/agent.sh"
export TEST_KEY=k

# replies_once: the turns in the log are 0, 1, 2, ... each once
replies_once() { [ "$(jq -r 'select(.event == "reply").turn' "$log" | xargs)" = "$(seq 0 $(($1 - 1)) | xargs)" ]; }
until_log() { # PATTERN: waits until the log has it
	for _ in {1..500}; do
		! grep -q "$1" "$log" 2>/dev/null || return 0
		sleep 0.02
	done
	return 1
}
hard_kill() { kill -9 "$1"; wait "$1" 2>/dev/null; }
trial_run() { # NAME: a trial with that script, its log known beforehand
	trial without 20 "script:$PWD/scripts/$1" >"trial.$1"
	log=runs/$(jq -r .id "trial.$1")/transcript.jsonl
	rm -rf "${log%/*}"
}

# Killed in the middle of a command
replies middle <<'END'
{"content":"first","calls":[{"name":"write","arguments":{"path":"submission.py","content":"one"}}]}
{"calls":[{"name":"list"},{"name":"shell","arguments":{"command":"echo started >flag; sleep 5417"}},{"name":"list"}]}
{"expect":"interrupted before this call had an answer","calls":[{"name":"shell","arguments":{"command":"cat flag"}},{"name":"submit"}]}
END
trial_run middle
d2k-agent --check "$evaluator" trial.middle >out 2>err &
pid=$!
work=${log%/*}/work
for _ in {1..500}; do [ ! -s "$work/flag" ] || break; sleep 0.02; done
cp "$log" before
run d2k-agent trial.middle
exits 75 'a second agent on the same run'
same out trial.middle 'leaves the record as it was'
like "$(<err)" 'another process works on' 'and says why'
hard_kill $pid
sleep 0.3
is "$(pgrep -fc '^sleep 5417')" 0 'the command died with the agent'
run agent trial.middle
exits 0 'taken up'
is "$(field .status)/$(field .submission)/$(field .turns)" submitted/one/3 'it goes on to the end'
ok replies_once 3 -- 'no turn twice'
ok cmp -n "$(stat -c %s before)" before "$log" -- 'what was there stays'
is "$(jq -r 'select(.event == "result" and .turn == 1).ok' "$log" | xargs)" 'true false false' \
	'the answer that was there stays, the others are errors'

# Killed in the middle of a check
replies checking <<'END'
{"calls":[{"name":"write","arguments":{"path":"submission.py","content":"SLOW"}},{"name":"check"}]}
{"expect":"interrupted","calls":[{"name":"write","arguments":{"path":"submission.py","content":"fast"}},{"name":"check"}]}
{"calls":[{"name":"submit"}]}
END
trial_run checking
d2k-agent --check "$evaluator" trial.checking >out 2>err &
pid=$!
until_log '"event":"result"'
sleep 0.3
kill -TERM $pid
wait $pid
status=$?
exits 75 'SIGTERM in a check'
is "$(grep -c '"event"' "$log")/$(field .status)" 3/null 'leaves the call open'
run agent trial.checking
is "$(field .status)/$(field '.checks | tojson')" 'submitted/[{"turn":1,"status":"correct","speedup":1.25}]' 'and it goes on'

# A log cut at any byte
replies short <<'END'
{"calls":[{"name":"write","arguments":{"path":"submission.py","content":"one"}},{"name":"list"}]}
{"content":"thinking"}
{"calls":[{"name":"check"}]}
{"calls":[{"name":"submit"}]}
{"expect":"interrupted","calls":[{"name":"submit"}]}
END
trial_run short
run agent trial.short
is "$(field .status)" submitted 'a run to cut'
cp "$log" whole
size=$(stat -c %s whole) bad=0 tried=0
for ((at = 0; at < size; at += 1 + size / 60)); do
	head -c "$at" whole >"$log"
	run agent trial.short
	kept=$(head -c "$at" whole | grep -c '') # lines that end in a newline, and perhaps a torn one
	[ "$at" = 0 ] || [ "$(head -c "$at" whole | tail -c 1 | wc -l)" = 1 ] || kept=$((kept - 1))
	[ "$status" = 0 ] && [ "$(field .status)/$(field .submission)" = submitted/one ] && replies_once "$(field .turns)" &&
		cmp -s <(head -n "$kept" whole) <(head -n "$kept" "$log") || bad=$((bad + 1))
	tried=$((tried + 1))
done
is "$bad of $tried" "0 of $tried" "cut at $tried places, every run ends as it should"
{ head -n 3 whole; head -c 500 /dev/zero; } >"$log"
run agent trial.short
is "$(field .status)" submitted 'a tail of zeros'
{ head -n 3 whole; echo '{"event":"reply","turn":9}'; } >"$log"
cp "$log" damaged
run agent trial.short
exits 1 'a line that does not follow'
like "$(<err)" "transcript.jsonl:4: not the reply of turn 1" 'is named'
same "$log" damaged 'and not overwritten'
{ head -n 1 whole; echo 'nonsense'; tail -n +2 whole; } >"$log"
run agent trial.short
exits 1 'damage in the middle'
like "$(<err)" 'transcript.jsonl:2: ' 'is named'

# Killed at any time, again and again, against a server that counts
for i in {0..19}; do
	jq -cn --arg c "echo $i >>done; sleep 0.0$((RANDOM % 10))" '{calls: [["shell", {command: $c}], ["list", {}]]}'
done >replies
echo '{"calls":[["write",{"path":"submission.py","content":"end"}],["submit",{}]]}' >>replies
serve --by-turn
trial without 50 local >trial.local
log=runs/$(jq -r .id trial.local)/transcript.jsonl
kills=0
while [ $kills -lt 25 ]; do
	d2k-agent --models models.json trial.local >out 2>err &
	pid=$!
	sleep "0.$((RANDOM % 4 + 1))$((RANDOM % 10))"
	[ -d "/proc/$pid" ] || break
	[ "$(jq -r .event "$log" 2>/dev/null | tail -n 1)" != end ] || break
	hard_kill $pid
	kills=$((kills + 1))
done
wait $pid 2>/dev/null
run agent --models models.json trial.local
unserve
is "$(field .status)/$(field .submission)/$(field .turns)" submitted/end/21 "killed $kills times, it ends as it should"
ok replies_once 21 -- 'each turn once in the transcript'
ok test "$(wc -l <requests)" -le $((21 + kills)) -- 'a kill costs at most the request under way'
is "$(jq '[.body.messages[] | select(.role == "assistant")] | length' requests | sort -n -C && echo sorted)" sorted \
	'no finished turn is asked for again'
is "$(sort -n "${log%/*}/work/done" | uniq -d | wc -l)" 0 'no command ran twice'
is "$(jq -s 'all(.[].body.messages; ([.[] | select(.role == "assistant").tool_calls[].id] | length)
	== ([.[] | select(.role == "tool")] | length))' requests)" true 'every call had its answer in every request'

# A disk that is full
if unshare -m true 2>/dev/null; then
	replies bulky <<<'{"calls":[{"name":"shell","arguments":{"command":"head -c 30000 /dev/zero | tr \\\\0 x"}},{"name":"submit"}]}'
	trial_run bulky
	mkdir -p runs
	run unshare -m bash -c 'mount -t tmpfs -o size=40k none runs && exec d2k-agent trial.bulky'
	exits 1 'a full disk'
	like "$(<err)" "cannot write 'runs/.*/transcript.jsonl': No space left" 'is reported'
	same out trial.bulky 'the record passes through'
else
	skip 'no mount namespace' 'a full disk'
fi
t_done
