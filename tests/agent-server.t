#!/bin/bash
# d2k-agent against a local chat-completions server: requests, usage and cost, errors, retries, keys, memory.
# shellcheck disable=SC2154,SC2034,SC2119 # status, log and others come from the sourced files
. "$(dirname "$0")/lib.sh"
t_dir
. "$D2K_ROOT/tests/agent.sh"
export TEST_KEY=sk-very-secret

# A run
cat >replies <<'END'
{"content":null,"calls":[["write",{"path":"submission.py","content":"ok"},"c1"],["list",{},"c1"],["check",{}]],"finish":"stop","usage":{"prompt_tokens":1000,"completion_tokens":100,"prompt_tokens_details":{"cached_tokens":0},"completion_tokens_details":{"reasoning_tokens":30}},"message":{"reasoning_content":"hmm"}}
{"calls":[["shell",{"command":"env; cat /proc/*/environ"},null]],"usage":{"prompt_tokens":1500,"completion_tokens":50,"prompt_tokens_details":{"cached_tokens":1000},"completion_tokens_details":{"reasoning_tokens":0}}}
{"content":"I hand it in.","calls":[["submit","{}"]],"usage":{"prompt_tokens":1800,"completion_tokens":10,"prompt_tokens_details":{"cached_tokens":1500},"completion_tokens_details":{"reasoning_tokens":0}}}
END
ask
exits 0 'a run'
is "$(field .status)/$(field .submission)/$(field .turns)/$(field .attempts)" submitted/ok/3/3 'to its end'
is "$(field '.usage | tojson')" '{"fresh_in":1800,"cache_read":2500,"cache_write":0,"out":160,"reasoning":30}' 'usage by class'
is "$(field '.cost_usd * 1e6 | round')" $((1800 * 2 + 1250 + 1600)) 'cost'
is "$(field .model_id)" test-model 'the identifier'
is "$(jq -r '.path' requests | sort -u)/$(jq -r '.headers.authorization' requests | sort -u)" '/v1/chat/completions/Bearer sk-very-secret' \
	'where requests go, with the key'
is "$(jq -c 'select(.body.messages | length == 2).body | [keys, .model, .temperature, .max_completion_tokens, (.tools | length)]' requests)" \
	'[["max_completion_tokens","messages","model","temperature","tools"],"test-model",0.5,1000,8]' 'what they hold'
is "$(jq -s -c '.[1].body.messages[0:2] == .[0].body.messages' requests)" true 'a conversation only grows'
is "$(jq -s -c '[.[2].body.messages[].role]' requests)" \
	'["system","user","assistant","tool","tool","tool","assistant","tool"]' 'every call is answered before anything else'
is "$(jq -s '.[2].body.messages as $m | ($m[2].tool_calls | map(.id)) == ($m[3:6] | map(.tool_call_id))
	and ($m[2].tool_calls | map(.id) | unique | length) == 3 and $m[2].content == "" and $m[2].reasoning_content == "hmm"' \
	requests)" true 'paired by unique ids; reasoning goes back'
is "$(cat "$log" out err "$TEST_EVALUATIONS" "$TEST_EVALUATIONS.env" | grep -c -F very-secret)" 0 \
	'the key is in no log, record, evaluation or environment'

# Errors that pass
cat >replies <<'END'
{"drop":true}
{"cut":20,"content":"long enough to be cut"}
{"status":429,"headers":{"Retry-After":"0"},"body":{"error":{"message":"slow down","type":"rate_limit","code":null}}}
{"status":503,"headers":{"retry-after-ms":"10"},"body":"<html>busy</html>"}
{"status":200,"headers":{"Retry-After":"0"},"body":{"error":{"code":502,"message":"upstream"}}}
{"calls":[["submit",{}]]}
{"calls":[["write",{"path":"submission.py","content":"x"}],["submit",{}]]}
END
ask
is "$(field .status)/$(field .turns)/$(field .attempts)" submitted/2/7 'errors that pass are tried again'
is "$(field '.usage | tojson')/$(field .cost_usd)" \
	'{"fresh_in":null,"cache_read":null,"cache_write":null,"out":null,"reasoning":null}/null' 'usage not sent is unknown'
is "$(jq -s '[.[0:6][].body.messages] | unique | length' requests)" 1 'each time with the same conversation'

# Errors that do not
final() { # STATUS BODY HOW: the run ends with that status after one request
	jq -cn --argjson s "$1" --arg b "$2" '{status: $s, body: $b, headers: {"Retry-After": "0"}}' >replies
	ask
	is "$(field .status)/$(field .turns)/$(wc -l <requests)" "$3/0/1" "$1 $2"
}
final 401 '{"error":{"message":"Incorrect key sk-very-secret"}}' failed
unlike "$(cat "$log" out err)" 'very-secret' 'a key that the server quotes is blotted out'
like "$(<err)" 'HTTP 401: Incorrect key \*+' 'the user is told'
final 400 '{"error":{"message":"bad","code":"unsupported_parameter"}}' failed
final 429 '{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}' failed
final 400 '{"error":{"message":"This model'\''s maximum context length is 8192 tokens"}}' overflow
final 413 '{"object":"error","message":"prompt is too long: 1 > 0"}' overflow
printf '%s\n' '{"body":"<p>"}' '{"body":"{}"}' '{"body":""}' '{"content":"x"}' | sed 's/}$/,"headers":{"retry-after":"0"}}/' >replies
ask
is "$(field .status)/$(wc -l <requests)" failed/3 'replies that cannot be read are tried thrice'

# Contexts
for tokens in 100 60000; do
	printf '%s\n' '{"calls":[["shell",{"command":"head -c 20000 /dev/urandom | base64"}]],"usage":{"prompt_tokens":'$tokens'}}' \
		'{"calls":[["list",{}]],"usage":{"prompt_tokens":100,"completion_tokens":5}}' >replies
	sed -i 's/}}$/,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":0}}}/' replies
	ask
	is "$(field .status)/$(field .reason)/$(field .turns)" 'overflow/the server drops the front of the conversation/2' \
		"a server that counts $tokens tokens and then 100"
done
echo '{"calls":[["list",{}]],"usage":{"prompt_tokens":99990,"completion_tokens":10,"prompt_tokens_details":{"cached_tokens":0}}}' >replies
ask
is "$(field .status)/$(field .reason)/$(wc -l <requests)" 'overflow/the context is full/1' 'a full context is not asked again'
echo '{"content":"half a th","finish":"length"}' >replies
ask
like "$(jq -r 'select(.event == "note").text' "$log" | head -n 1)" 'cut off at the length limit' 'a reply cut off is told so'

# Endpoints that are away
echo '{"status":503,"body":"","headers":{"Retry-After":"3600"}}' >replies
ask --max-wait 2
exits 75 'a wait over the limit'
same out trial.local 'leaves the record as it was'
like "$(<err)" 'gave up waiting: HTTP 503' 'and says why'
trial without 20 local >trial.local
run agent --models models.json --max-wait 1 trial.local
exits 75 'a server that is gone'
cat >replies <<'END'
{"calls":[["write",{"path":"submission.py","content":"x"}],["submit",{}]]}
END
serve
run agent --models models.json trial.local
unserve
is "$(field .status)/$(field .attempts)" submitted/1 'later the run goes on'
cp out finished
run env -u TEST_KEY d2k-agent --models models.json --redo finished
exits 1 'no key'
like "$(<err)" 'the key variable TEST_KEY is not set' 'says which variable'
jq '.models.local.base_url = "http://127.0.0.1:1/v1" | .models.local.model = null' models.json >m2 && mv m2 models.json
rm -rf runs
run agent --models models.json trial.local
exits 1 'no identifier'
like "$(<err)" "the identifier \('model'\) is not filled in" 'says what is missing'
for entry in '.wire = "x"' '.modell = 1' '.parameters.stream = true' '.prices.in = 1' '.base_url = "ftp://x"'; do
	jq ".models.local.model = \"m\" | .models.local$entry" models.json >m2
	run agent --models m2 --max-wait 1 trial.local
	ok test -s err -a "$status" -le 1 -- "refused: $entry"
	rm -rf runs
done

# While it waits
printf '%s\n' '{"calls":[["shell",{"command":"head -c 9000000 /dev/urandom | base64"}],["read",{"path":"task.md"}]]}' \
	'{"delay":8,"calls":[["submit",{}]]}' >replies
serve
trial without 20 local >trial.local
rm -rf runs
d2k-agent --models models.json trial.local >out 2>err &
pid=$!
until [ -e requests ] && [ "$(wc -l <requests)" = 2 ]; do sleep 0.1; done
sleep 0.5
if grep -q __asan "$D2K_BIN/d2k-agent"; then
	skip 'sanitizers take memory of their own' 'memory while waiting'
else
	ok test "$(awk '/^Private_Dirty/ { print $2 }' "/proc/$pid/smaps_rollup")" -le 4096 -- 'at most 4 MB of private dirty memory'
	awk '/^(Private_Dirty|Rss)/ { print "# " $0 }' "/proc/$pid/smaps_rollup"
fi
unlike "$(tr '\0' ' ' <"/proc/$pid/cmdline")" 'secret' 'no key in the command line'
kill -INT $pid
before=$(date +%s%N)
wait $pid
status=$?
exits 75 'an interrupt'
ok test $((($(date +%s%N) - before) / 1000000)) -lt 2500 -- 'is heard within seconds'
same out trial.local 'and leaves the record as it was'
like "$(<err)" 'interrupted' 'it says so'
unserve
t_done
