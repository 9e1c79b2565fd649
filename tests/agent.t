#!/bin/bash
# d2k-agent's loop with a scripted model: what is told, how runs end, what is handed in, what passes through.
# shellcheck disable=SC2154,SC2034,SC2119 # status, log and others come from the sourced files
. "$(dirname "$0")/lib.sh"
t_dir
. "$D2K_ROOT/tests/agent.sh"

# A whole piece of work
cat >scripts/kernel.py <<'END'
# WRONG
def run(x, y): "Größe"
END
replies work <<'END'
{"content":"I look first.","calls":[{"name":"list","arguments":{}},{"name":"read","arguments":{"path":"task.md"}}],"usage":{"fresh_in":10,"cache_read":0,"cache_write":0,"out":5,"reasoning":1}}
{"expect":"Copy x to y.","calls":[{"name":"write","arguments":{"path":"submission.py","content":{"$file":"kernel.py","replace":[["WRONG","SYNTAX"]]}}},{"name":"check"}],"usage":{"fresh_in":1,"cache_read":15,"cache_write":0,"out":5,"reasoning":2}}
{"expect":"build: syntax_error\nline 3: what is this?","calls":[{"name":"write","arguments":{"path":"submission.py","content":{"$file":"kernel.py"}}},{"name":"check","arguments":{}}],"usage":{"fresh_in":1,"cache_read":15,"cache_write":0,"out":5,"reasoning":null}}
{"expect":"result: wrong\n\nworkload w1: wrong\n  output y: rfe 0.5 (at most 0.0001); at [3] expected 2, got 1\n","calls":[{"name":"edit","arguments":{"path":"submission.py","old":"# WRONG","new":"# right"}},{"name":"profile","arguments":""}],"usage":{"fresh_in":1,"cache_read":15,"cache_write":0,"out":5,"reasoning":2}}
{"expect":"output y: rfe 1e-05 (at most 0.0001)\n  time 1.60 us, baseline 2.00 us, speedup 1.250x, 50 % of the roofline","calls":[{"name":"submit","arguments":{}},{"name":"list","arguments":{}}],"usage":{"fresh_in":1,"cache_read":15,"cache_write":0,"out":5,"reasoning":2}}
END
play work
exits 0 'a piece of work'
is "$(field .status)/$(field .chosen_by)/$(field .reason)" submitted/submit/null 'it ends with submit'
is "$(field .submission)" $'# right\ndef run(x, y): "Größe"' 'the submission is the source as it was handed in'
is "$(field .submission_sha256)" "$(printf '# right\ndef run(x, y): "Größe"\n' | sha256sum | cut -d' ' -f1)" 'and its hash'
is "$(field '.tool_calls | tojson')" '{"read":1,"write":2,"edit":1,"list":2,"shell":0,"check":2,"profile":1,"submit":1,"unknown":0}' 'calls are counted'
is "$(field '.checks | tojson')" '[{"turn":1,"status":"syntax_error","speedup":null},{"turn":2,"status":"wrong","speedup":null},{"turn":3,"status":"correct","speedup":1.25}]' 'checks are listed'
is "$(field '.usage | tojson')" '{"fresh_in":14,"cache_read":60,"cache_write":0,"out":25,"reasoning":null}' 'tokens are summed, unknown stays unknown'
is "$(field .cost_usd)" null 'an unknown price gives no cost'
is "$(field .turns)/$(field .budget)/$(field .attempts)" 5/20/5 'turns'
is "$(field .transcript)" "$log" 'the transcript is named'
is "$(field .transcript_sha256)" "$(sha256sum <"$log" | cut -d' ' -f1)" 'and its hash'
is "$(jq -r .event "$log" | xargs)" 'start reply result result reply result result reply result result reply result result reply result result end' 'every event is in it'
like "$(answers | tail -n 1)" 'already handed in' 'a call after submit is answered, not run'
like "$(answers | sed -n 8p)" 'k: 40 registers, 0 bytes spilled, 1024 bytes shared, 4 warps, 1 CTAs per cluster, 2 launches, 1 variants, grids \[\[8,1,1\]\]' 'profile tells about kernels and leaves out what is unknown'
unlike "$(cat "$log")" 'expert|0\.625' 'nothing about the expert reaches the model'
is "$(head -c "$(($(stat -c %s trial.work) - 2))" out)" "$(head -c "$(($(stat -c %s trial.work) - 2))" trial.work)" 'the trial passes through byte for byte'
is "$(tail -n 1 "$TEST_EVALUATIONS" | jq -c 'del(.agent)')" "$(jq -c . trial.work)" 'the pipeline gets the trial'
cp out finished
run agent finished
same out finished 'a record with the section passes through untouched'
cp "$log" log.before
run agent trial.work
is "$(field .status)/$(field .turns)" submitted/5 'a finished run whose record was lost is not worked on again'
same "$log" log.before 'its transcript stays'
same out finished 'its record comes out the same'

# Budget, and what is handed in without submit
replies endless <<'END'
{"calls":[{"name":"write","arguments":{"path":"submission.py","content":"right one"}},{"name":"check"}]}
{"calls":[{"name":"write","arguments":{"path":"submission.py","content":"WRONG"}},{"name":"check"}]}
{"calls":[{"name":"write","arguments":{"path":"submission.py","content":"later"}},{"name":"list"},{"name":"list"}]}
{"calls":[{"name":"list"}]}
END
play endless without 3
is "$(field .status)/$(field .reason)/$(field .chosen_by)/$(field .submission)/$(field .turns)" \
	'budget/turns used up/last_correct_check/right one/3' 'the last correct check counts'
is "$(jq -s '[.[] | select(.event == "result")] | length' "$log")" 7 'every call of the last turn is answered'
is "$(answers | grep -o '\[[0-9] of 3 turns are left]' | xargs)" '[2 of 3 turns are left] [1 of 3 turns are left]' \
	'what is left is told once a turn when it is little'
play endless without 4
is "$(field .turns)" 4 'a longer budget'
replies unchecked <<'END'
{"calls":[{"name":"write","arguments":{"path":"submission.py","content":"WRONG"}},{"name":"check"}]}
{"calls":[{"name":"write","arguments":{"path":"submission.py","content":"unchecked"}}]}
END
play unchecked without 2
is "$(field .chosen_by)/$(field .submission)" last_write/unchecked 'without a correct check it is the last write'
play unchecked without 9
is "$(field .status)/$(field .chosen_by)" script_end/last_write 'a script that ends'
replies idle <<'END'
{"calls":[{"name":"list"}]}
END
play idle without 1
is "$(field .status)/$(field .chosen_by)/$(field .submission)/$(field .submission_sha256)" budget/none/null/null 'nothing written'
play idle without 20 --turns 1
is "$(field .status)/$(field .budget)" budget/1 '--turns'
like "$(<"runs/$(jq -r .id trial.idle)/work/task.md")" 'The budget of this run is 1 turns\.' 'another budget is told'
play unchecked without 9 --timeout 0.000001
is "$(field .status)/$(field .reason)/$(field .turns)" 'budget/time used up/0' '--timeout'

# Replies without calls
replies silent <<'END'
{"content":"Let me think."}
{"calls":[{"name":"list"}]}
{"content":null}
{}
{"content":"Done!"}
{"calls":[{"name":"list"}]}
END
play silent
is "$(field .status)/$(field .turns)/$(field .chosen_by)" no_tool_calls/5/none 'three silent replies in a row end the run'
is "$(grep -c '"event":"note"' "$log")" 3 'the model is told each time before'

# Designs
replies design1 <<'END'
{"content":"Fold the updates."}
END
play design1 design
is "$(field .status)/$(field .chosen_by)/$(field .design)/$(field .submission)" 'submitted/submit/Fold the updates./null' 'a design as plain words'
replies design2 <<'END'
{"content":"","calls":[{"name":"write","arguments":{"path":"x","content":"y"}},{"name":"submit","arguments":{"design":" "}}]}
{"expect":"the design is empty","content":null}
{"expect":"Your reply was empty","calls":[{"name":"submit","arguments":{"design":"In words."}}]}
END
play design2 design
is "$(field .status)/$(field .design)/$(field '.tool_calls | tojson')" 'submitted/In words./{"submit":2,"unknown":1}' 'a design by submit; no other tool is offered'

# Scripts that do not fit fail loudly
replies misfit <<'END'
{"expect":"something else"}
END
play misfit
is "$(field .status)" failed 'an expectation that is not met'
like "$(<err)" "reply 1 of the script: expected 'something else', was told" 'is reported'
replies badfile <<'END'
{"calls":[{"name":"write","arguments":{"path":"x","content":{"$file":"kernel.py","replace":[["absent","x"]]}}}]}
END
play badfile
like "$(field .status) $(<err)" "failed.*'absent' does not occur" 'a replacement that does not occur'
replies badkey <<'END'
{"cals":[]}
END
play badkey
like "$(field .status) $(<err)" "failed.*unknown key 'cals'" 'a misspelt key'

# The evaluator's own failures say nothing about the submission
replies broken <<'END'
{"calls":[{"name":"check"}]}
{"expect":"error: cannot read 'submission.py'","calls":[{"name":"write","arguments":{"path":"submission.py","content":"BROKEN"}},{"name":"check"}]}
{"expect":"tool_error: the check itself failed\nThis says nothing about the submission.","calls":[{"name":"write","arguments":{"path":"submission.py","content":"SLOW"}},{"name":"check"}]}
{"expect":"timeout: the check took too long","calls":[{"name":"submit"}]}
END
play broken without 20 --check-timeout 1
is "$(field .status)/$(field '.checks | map(.status) | tojson')" 'submitted/["tool_error","timeout"]' 'a broken and a slow evaluator'
like "$(<err)" 'check: evaluator: no disk' 'its words go to the user'
unlike "$(<"$log")" 'no disk' 'not to the model'
replies away <<'END'
{"calls":[{"name":"write","arguments":{"path":"submission.py","content":"AWAY"}},{"name":"check"}]}
{"expect":"interrupted before this call had an answer","calls":[{"name":"submit"}]}
END
play away
exits 75 'an evaluator that is away'
same out trial.away 'leaves the record as it was'
run agent trial.away
exits 0 'and later'
is "$(field .status)/$(field .turns)/$(field .submission)" submitted/2/AWAY 'it goes on'

# What profile runs
cat >d2k-time-played <<END
#!/bin/bash
echo "\$*" >>asked
exec '$evaluator'
END
chmod +x d2k-time-played
replies looks <<'END'
{"calls":[{"name":"write","arguments":{"path":"submission.py","content":"right"}},{"name":"check"},{"name":"profile"},{"name":"submit"}]}
END
play looks without 20 --check "cat | $PWD/d2k-time-played -w x"
is "$(paste -sd/ asked)" '-w x/-w x --profile' 'the d2k-time of check is told to profile'
rm asked
play looks without 20 --check "$PWD/d2k-time-played | cat"
is "$(paste -sd/ asked)" '/' 'another last command is not'
rm asked
play looks without 20 --check "$PWD/d2k-time-played" --profile "$PWD/d2k-time-played more"
is "$(paste -sd/ asked)" '/more' 'a pipeline of its own'

# Which runs are taken up
play idle without 1
cp out first
run agent --redo first
is "$(field .status)" budget 'redo'
ok test -e "runs/$(jq -r .id trial.idle).1/transcript.jsonl" -- 'sets the finished run aside'
is "$(jq -c 'del(.agent)' out)" "$(jq -c . trial.idle)" 'and replaces the section'
play unchecked without 9
sed -i '$d' "$log"
echo '{}' >>scripts/unchecked
run agent trial.unchecked
exits 1 'a run begun with another script'
like "$(<err)" 'begun with other parameters or script' 'is refused'
same out trial.unchecked 'its record passes through'
jq -c '.prompt.user += "!"' trial.idle | jq -c '.prompt.shared_hash = null' >changed
run agent changed
exits 1 'a run with another prompt'
like "$(<err)" 'another prompt' 'is refused'
jq -c '.prompt.shared_hash = "0"' trial.work >changed
run agent changed
exits 1 'texts that changed since the trial was made'
like "$(<err)" 'changed since the trial was made' 'are refused'
for spoilt in 'del(.id)' '.id = "../x"' '.id = ""' '.task = "x/y"' '.task = "absent"' 'del(.prompt)' '.prompt = []' \
	'.prompt.turns = 0' '.model = "absent"' '.model = null' '.arm = "."' '.model = "script:absent"'; do
	jq -c "$spoilt" trial.work >spoiltrial
	run agent spoiltrial
	ok test "$status" = 1 -a -s err -- "refused: $spoilt"
	same out spoiltrial "passed through: $spoilt"
done

# Several records; one bad does not stop the rest
{ jq -c '.id = "../x"' trial.idle; jq -c '.id = "second"' trial.idle; } >two
run agent two
exits 1 'one of two is bad'
is "$(jq -r '.agent.status' out | xargs)" 'null budget' 'the other is worked on'
run agent </dev/null
exits 0 'no input'
is "$(<out)" '' 'no output'
t_done
