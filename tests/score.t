#!/bin/bash
# d2k-score: every figure against one worked out by hand, on trials made here. Speedups are powers of two, so that
# geometric means are too.
# shellcheck disable=SC2317 # functions are called through ok
. "$(dirname "$0")/lib.sh"
t_dir

# trial MODEL TASK ARM [FILTER]: a finished trial on one line: correct, timed on a GPU at speedup 2, expert 4; judged
# 50 60 70; FILTER changes it. Ids count up.
trials=0
trial() {
	local filter=${4:-.}

	trials=$((trials + 1))
	jq -nc --arg id "$(printf '%016x' $trials)" --arg m "$1" --arg t "$2" --arg a "$3" '{
		id: $id, task: $t, arm: $a, model: $m, repeat: 1, prompt: {shared_hash: ("hash of " + $t)},
		agent: {status: "submitted", submission: "source", model_id: $m, cost_usd: 1,
			usage: {fresh_in: 100, cache_read: 1000, cache_write: 0, out: 10, reasoning: 5}},
		build: {status: "ok"},
		time: {status: "correct", comparable: true, tier: "bench", device: {name: "NVIDIA H200"}, speedup: 2,
			workloads: [{ns: {candidate: 400, baseline: 800, expert: 100}},
				    {ns: {candidate: 400, baseline: 800, expert: 400}}]},
		judge: {status: "scored", kind: "implementation", judge: "j",
			scores: {L1: 50, L2: 60, L3: 70, combined: 60}, gated: {L1: 50, L2: 30, L3: 10, combined: 30}}}
		| '"$filter"
}
# score FILTER [ARG...]: what jq makes of the JSON report on ./records
score() {
	local filter=$1
	shift
	d2k-score --format json "$@" records >report.json 2>err
	jq -c "$filter" report.json
}
wrong='.time.status = "wrong" | .time.speedup = null |
	.time.workloads |= map(.ns = {candidate: null, baseline: null, expert: null})'
cpu='.time.device.name = "cpu-interpreter" | .time.comparable = false | .time.tier = "smoke" | .time.speedup = null'
without='.models[0].arms.without' with='.models[0].arms.with' change='.models[0].change'

# One model, four tasks: speedups 1 2 4 wrong without, 4 2 wrong 8 with guidance
{
	trial m a without '.time.speedup = 1'
	trial m b without '.time.speedup = 2'
	trial m c without '.time.speedup = 4'
	trial m d without "$wrong"
	trial m a with '.time.speedup = 4 | .agent.usage.cache_read = 3000 | .agent.cost_usd = 2'
	trial m b with '.time.speedup = 2 | .judge.scores = {L1: 90, L2: 80, L3: 70, combined: 80}'
	trial m c with "$wrong"
	trial m d with '.time.speedup = 8'
} >records
run d2k-score records
exits 0 "a report"
is "$(cat err)" "" "nothing on stderr"
is "$(score "$without | [.pairs, .correct, .correct_share]")" "[4,3,0.75]" "correctness without guidance"
is "$(score "$with | [.pairs, .correct, .correct_share]")" "[4,3,0.75]" "and with"
is "$(score "$change | [.pairs, .correct_share]")" "[4,0]" "one lost, one won: no change"
is "$(score .incorrect)" '{"rule":"baseline","value":1}' "the rule is in the report"
near() { # GOT WANTED NAME: equal to 1e-12
	ok jq -en "($1) as \$x | ($2) as \$y | (\$x - \$y) | fabs < 1e-12" -- "$3: $1"
}
near "$(score "$without.performance_score")" 'pow(8; 1/4)' "baseline: 1 2 4 and the wrong one as 1"
near "$(score "$with.performance_score")" 'pow(64; 1/4)' "4 2 8 and the wrong one as 1"
is "$(score "$without | [.performance_tasks, .performance_by_rule]")" "[4,1]" "over 4 tasks, 1 by the rule"
near "$(score "$change.performance_score.ratio")" 'pow(8; 1/4)' "their ratio"
near "$(score "$without.performance_score" --incorrect drop)" 2 "drop: 1 2 4"
near "$(score "$with.performance_score" --incorrect drop)" 4 "drop: 4 2 8"
is "$(score "$without | [.performance_tasks, .performance_by_rule]" --incorrect drop)" "[3,0]" "over 3 tasks"
near "$(score "$change.performance_score.ratio" --incorrect drop)" 2 "drop: the change is over a and b alone"
is "$(score .incorrect --incorrect drop)" '{"rule":"drop","value":null}' "and the report says so"
near "$(score "$without.performance_score" --incorrect 0.5)" 'pow(4; 1/4)' "0.5: 1 2 4 and 0.5"
is "$(score .incorrect --incorrect 0.5)" '{"rule":"number","value":0.5}' "and the report says that"
near "$(score "$change.speedup_both_correct.without")" 'pow(2; 1/2)' "correct in both arms, without: 1 2"
near "$(score "$change.speedup_both_correct.with")" 'pow(8; 1/2)' "with: 4 2"
near "$(score "$change.speedup_both_correct.ratio")" 2 "their ratio"
is "$(score "$change.speedup_both_correct.pairs")" 2 "over 2 pairs"
is "$(score '.complete_models | [.models, .speedup.pairs, .speedup.ratio]')" "[[],0,null]" \
	"no model is correct throughout"
near "$(score .scale.expert)" 4 "the expert: 8 and 2, their geometric mean"
is "$(score '[.scale.baseline, .scale.expert_tasks, .scale.pytorch]')" "[1,4,null]" "the scale"
rounded='(if . then . * 1e9 | round / 1e9 else . end)' # the way through logarithms costs the last digit
is "$(score "[.tasks[] | [.task, (.arms.without.speedup, .arms.with.speedup | $rounded), .arms.with.outcome]]")" \
	'[["a",1,4,"correct"],["b",2,2,"correct"],["c",4,null,"wrong"],["d",null,8,"correct"]]' "speedups per task"
is "$(score "$without.implementation")" \
	'{"tasks":4,"plain":{"L1":50,"L2":60,"L3":70,"combined":60},"gated":{"L1":50,"L2":30,"L3":10,"combined":30}}' \
	"implementation scores, plain and gated"
is "$(score "$with.implementation.plain")" '{"L1":60,"L2":65,"L3":70,"combined":65}' "means over the tasks"
is "$(score "$change.implementation")" '{"pairs":4,"L1":10,"L2":5,"L3":0,"combined":5}' "what guidance changed in them"
is "$(score "$change.implementation_gated.combined")" 0 "and in the gated ones"
is "$(score "$with.usage")" '{"fresh_in":400,"cache_read":6000,"cache_write":0,"out":40,"reasoning":20}' \
	"tokens by class"
is "$(score "$change.usage_ratio")" '{"fresh_in":1,"cache_read":1.5,"cache_write":null,"out":1,"reasoning":1}' \
	"and their change; nothing over nothing is unknown"
is "$(score "[$without.cost_usd, $with.cost_usd, $change.cost_ratio]")" "[4,5,1.25]" "cost"
is "$(score '.all | [.arms.without.correct, .change.pairs]')" "[3,4]" "one model: all is that model"
is "$(score .warnings)" "[]" "nothing to warn of"

# The published table's columns: several models
{
	trial x a without '.time.speedup = 2'
	trial x b without '.time.speedup = 2'
	trial x a with '.time.speedup = 8'
	trial x b with '.time.speedup = 2'
	trial y a without "$wrong"
	trial y b without '.time.speedup = 4'
	trial y a with '.time.speedup = 1'
	trial y b with '.time.speedup = 16'
} >records
is "$(score '.all.arms | [.without.pairs, .without.correct, .with.correct]')" "[4,3,4]" "correct over model-task pairs"
is "$(score .all.change.correct_share)" 0.25 "change in shares"
near "$(score .all.arms.without.performance_score)" 2 "over all pairs: 2 2 1 4"
near "$(score .all.arms.with.performance_score)" 4 "8 2 1 16"
is "$(score .complete_models.models)" '["x"]' "the model that is correct on all tasks in both arms"
near "$(score .complete_models.speedup.without)" 2 "without: 2 2"
near "$(score .complete_models.speedup.with)" 4 "with: 8 2"
near "$(score .all.change.speedup_both_correct.ratio)" 'pow(16; 1/3)' "all pairs correct in both: 4 1 4"

# Repeats
{
	trial m a without '.repeat = 1 | .time.speedup = 1'
	trial m a without '.repeat = 2 | .time.speedup = 4'
	trial m a without ".repeat = 3 | $wrong"
	trial m a without '.repeat = 4 | .time.status = "tool_error" | .time.speedup = null'
	trial m a with '.repeat = 1 | .time.speedup = 4'
	trial m a with '.repeat = 2 | .time.speedup = 4 | .judge.scores.L1 = 100'
} >records
near "$(score "$without.correct_share")" '2/3' "correctness is the share of correct repeats among the measured"
near "$(score "$without.performance_score")" 2 "speedup: the geometric mean of the correct repeats"
is "$(score "$without | [.pairs, .performance_by_rule, .trials]")" "[1,0,4]" "one pair of four trials"
near "$(score "$change.speedup_both_correct.ratio")" 2 "the change compares the means"
is "$(score "$with.implementation.plain.L1")" 75 "scores: the mean over repeats"
is "$(score "$change.usage_ratio.out")" 1 "tokens: of one repeat, though there are more of them in one arm"
like "$(score .warnings)" 'the tools failed: 1 of 6 records' "what the tools did not manage is counted"
d2k-score records >text
like "$(<text)" '\(2/3\) 2.00' "the text says how many repeats were correct"

# One arm only
trial m a without >records
is "$(score "$change | [.pairs, .correct_share, .performance_score.ratio, .speedup_both_correct.with, .cost_ratio]")" \
	"[0,null,null,null,null]" "one arm: nothing changed is unknown, not 0"
is "$(score '.all.arms | keys')" '["without"]' "and the other arm is not there"
like "$(score .warnings)" 'measured in one arm only: 1 model-task pairs' "with a warning"
run d2k-score records
exits 0 "one arm is no error"

# No pair correct in both arms; nothing correct at all
{ trial m a without "$wrong"; trial m a with; } >records
is "$(score "$change.speedup_both_correct | [.pairs, .without, .with, .ratio]")" "[0,null,null,null]" \
	"no pair correct in both arms: unknown, not NaN"
{ trial m a without "$wrong"; trial m a with "$wrong"; } >records
is "$(score "[$without.performance_score, $change.performance_score.ratio]")" "[1,1]" "nothing correct: the baseline"
is "$(score "[$without.performance_score, $change.performance_score.ratio]" --incorrect drop)" "[null,null]" \
	"nothing correct, drop: unknown"
is "$(score '[.scale.expert, .tasks[0].expert]')" "[null,null]" "no times: no expert"
unlike "$(d2k-score --incorrect drop records)" '[^a-z]nan[^a-z]' "no NaN in the text"
unlike "$(d2k-score --incorrect drop --format csv records)" ',-?nan,' "nor in the CSV"

# No records
: >records
run d2k-score --format json records
exits 0 "no records: a report"
is "$(jq -c '[.counts.records, .models, .all.arms, .all.change.pairs, .tasks]' out)" '[0,[],{},0,[]]' "of nothing"
for format in text markdown csv; do
	run d2k-score --format $format records
	exits 0 "no records as $format"
	ok test -s out -- "says so"
done

# Failures of the submission count as incorrect; failures of the tools, and what was not run, count nowhere
for status in wrong fault timeout invalid not_built; do
	trial m "t-$status" without ".time.status = \"$status\" | .time.speedup = null |
		.build.status = \"$([ $status = not_built ] && echo syntax_error || echo ok)\""
done >records
for status in noisy stale unsupported tool_error something_new; do
	trial m "t-$status" without ".time.status = \"$status\" | .time.speedup = null"
done >>records
{
	trial m no-time without 'del(.time)'
	trial m build-failed without '.time.status = "not_built" | .build.status = "tool_error"'
	trial m model-failed without '.time.status = "not_built" | .build.status = "no_submission" |
		.agent.status = "failed" | .agent.submission = null'
	trial m nothing-sent without '.time.status = "not_built" | .build.status = "no_submission" |
		.agent.status = "budget" | .agent.submission = null'
} >>records
is "$(score "$without | [.pairs, .correct, .trials]")" "[6,0,14]" "six are incorrect, eight say nothing"
is "$(score "$without.outcomes | [.wrong, .fault, .timeout, .invalid, .not_built]")" "[1,1,1,1,2]" "by kind"
is "$(score "$without.outcomes | [.noisy, .stale, .unsupported, .tool_error, .not_run]")" "[1,1,1,4,1]" "and the others"
is "$(score "$without | [.performance_score, .performance_by_rule]")" "[1,6]" "only the six count by the rule"
like "$(score .warnings)" 'the tools failed: 6 of 14 .*"too few undisturbed rounds: 1 of 14 records are noisy' "noise is no failure of the tools"

# Sections that do not belong together: a stage was done again, and those after it were not
source=$(printf source | sha256sum | cut -d' ' -f1)
{
	trial m same without ".build.source_sha256 = \"$source\" | .judge.source_sha256 = \"$source\" |
		.build.bundle = \"b\" | .time.bundle = \"b\""
	trial m agent-again without '.build.source_sha256 = "other"'
	trial m built-again without '.build.bundle = "b" | .time.bundle = "c"'
	trial m fails-now without '.build.status = "syntax_error"'
	trial m builds-now without '.time.status = "not_built"'
	trial m half without '.time.workloads[1].status = "wrong"'
	trial m judged-before without '.judge.source_sha256 = "other"'
} >records
is "$(score "$without | [.correct, .outcomes.stale, .outcomes.tool_error]")" "[2,4,1]" "stale results say nothing"
is "$(score "$without.judged")" '{"scored":6,"unscored":0,"nothing_to_judge":0,"not_judged":1}' "nor does a stale judgement"

# Figures that no tool writes
{
	trial m a without '.agent.usage.out = -5 | .agent.cost_usd = -1 | .judge.scores.L1 = 101 | .judge.gated.L2 = -1'
	trial m b without '.time.speedup = 0'
	trial m c without '.time.speedup = -2'
} >records
for format in text markdown csv; do
	run d2k-score --format $format records
	exits 0 "figures out of range as $format"
done
is "$(score "$without | [.usage.out, .cost_usd, .implementation.plain.L1, .implementation.gated.L2]")" "[20,2,50,30]" \
	"they are unknown"
near "$(score "$without.performance_score")" 2 "also a speedup of nothing"

# Judging
{
	trial m a without '.judge.status = "unscored" | .judge.scores = null | .judge.gated = null'
	trial m b without 'del(.judge)'
	trial m c without '.judge.status = "nothing_to_judge" | .judge.scores = null | .judge.gated = null'
	trial m d without '.judge.scores.L3 = null | .judge.judge = "k"'
	trial m e without '.judge.scores.L3 = 100'
} >records
is "$(score "$without.judged")" '{"scored":2,"unscored":1,"nothing_to_judge":1,"not_judged":1}' "how the judging ended"
is "$(score "$without.implementation | [.tasks, .plain.L1, .plain.L3]")" "[2,50,100]" \
	"only scores that are there are averaged"
like "$(score .warnings)" 'unscored: 1 of 5.*not judged: 1 of 5.*different judges gave the scores: 2' \
	"the rest is counted on top"

# Designs
{
	trial m a design 'del(.time) | .judge.kind = "design" | .judge.scores.L1 = 10'
	trial m b design 'del(.time) | .judge.kind = "design" | .judge.scores.L1 = 20'
	trial m a without
} >records
is "$(score '.models[0].arms.design | [.design.tasks, .design.plain.L1, .design.gated.combined]')" "[2,15,30]" \
	"design scores"
is "$(score '.models[0].arms.design | has("correct")')" false "a design is neither correct nor fast"
is "$(score "$without | [.pairs, .implementation.plain.L1]")" "[1,50]" "and does not touch the arms with code"
unlike "$(score .warnings)" 'not timed' "nor is it missing a time"

# The arms of the ablation
{
	trial m a without
	trial m a L1 '.time.speedup = 4'
	trial m a L1+L2 '.time.speedup = 8'
	trial m a with '.time.speedup = 16'
} >records
is "$(score '[.models[0].arms | to_entries[] | [.key, (.value.performance_score * 8 | round / 8)]]')" \
	'[["without",2],["L1",4],["L1+L2",8],["with",16]]' "every arm has its score"

# CPU times, scripts
{
	trial m a without "$cpu"
	trial m b without "$cpu | .time.speedup = 1000"
	trial m c without "$wrong | $cpu | .time.status = \"wrong\""
	trial m d without '.time.comparable = false | .time.tier = "smoke" | .time.speedup = 1000'
	trial script:x e without '.time.speedup = 4 | .judge.judge = "script:j"'
	trial n f without '.agent.model_id = "script:demo/x.jsonl"'
} >records
is "$(score "$without | [.pairs, .correct, .performance_score, .performance_tasks]")" "[4,3,null,0]" \
	"checked on the CPU: correctness, and no score, also not by the rule"
is "$(score '.counts | [.on_cpu, .not_comparable, .scripted, .scripted_judge]')" "[3,1,2,1]" \
	"records on the CPU, on other workloads, and scripted ones are counted"
d2k-score records >text
like "$(head -n 12 text)" \
	'Warnings.*scripted model: 2 of 6.*scripted judge: 1 of 6.*checked on the CPU: 3 of 6.*not comparable: 1 of 6' \
	"and shown on top"

# Other doubts
{
	trial m a without '.time.device.name = "NVIDIA B200"'
	trial m b without
	trial m c without '.time.speedup = null'
	trial m d without '.agent.usage.out = null | .agent.cost_usd = null'
} >records
like "$(score .warnings)" \
	'different devices: 2.*correct without a speedup: 1 of 4' \
	"several devices, correct without a speedup"
is "$(score "$without | [.usage.out, .usage_known.out, .usage.fresh_in, .cost_usd, .cost_known]")" "[30,3,400,3,3]" \
	"unknown usage is not 0: how many know theirs is said"
like "$(d2k-score records)" '30\*' "the text marks such a sum"
trial m a without '.agent.usage = null | .agent.cost_usd = null' >records
is "$(score "$without | [.usage.out, .cost_usd]")" "[null,null]" "unknown to all: null"

# Pairs that must not be compared
refused='[.refused[] | [.a, .b, .a_left_out, .b_left_out]]'
{
	trial m a without '.id = "aaaa"'
	trial m a with '.id = "bbbb" | .prompt.shared_hash = "another"'
	trial m b without '.id = "cccc" | del(.prompt)'
	trial m b with '.id = "dddd" | del(.prompt)'
	trial m c without
	trial m c with '.time.speedup = 4'
} >records
run d2k-score --format json records
exits 1 "different shared hashes: exit 1"
is "$(grep -c . err)" 2 "a line for each pair"
like "$(<err)" "'aaaa' and 'bbbb' are not compared.*'cccc' and 'dddd' are not compared" "that names both ids"
is "$(jq -c '[.counts.left_out, [.refused[] | [.a, .b]]]' out)" '[4,[["aaaa","bbbb"],["cccc","dddd"]]]' \
	"both are left out and counted; a missing hash agrees with nothing"
is "$(jq -c '[.models[0].arms[].pairs, .models[0].change.pairs, [.tasks[].task]]' out)" '[1,1,1,["c"]]' \
	"the rest is scored"
{
	trial m a without '.id = "aaaa"'
	trial m a with '.id = "bbbb"'
	trial m a L1 '.id = "cccc" | .prompt.shared_hash = "another"'
} >records
is "$(score "$refused")" '[["aaaa","cccc",false,true]]' \
	"an arm of the ablation that differs goes alone where the pair agrees"
is "$(score '[.models[0].change.pairs, .all.arms.L1]')" "[1,null]" "and the pair stays"
{
	trial m a without '.id = "aaaa"'
	trial m a with '.id = "bbbb"'
	trial m a with '.id = "cccc" | .repeat = 2 | .prompt.shared_hash = "another"'
} >records
is "$(score "$refused")" '[["aaaa","cccc",false,true]]' \
	"a repeat without a partner is compared with those of other repeats"
{
	trial m a without
	trial m a with
	trial m a without '.repeat = 2 | .prompt.shared_hash = "another"'
	trial m a with '.repeat = 2 | .prompt.shared_hash = "another"'
} >records
is "$(score '[(.refused | length), .counts.pairs_with_mixed_hashes, .models[0].arms.with.trials]')" "[0,1,2]" \
	"repeats that agree pair by pair are kept, and the mixture is told"

# Duplicates and bad lines
{
	trial m a without '.id = "aaaa" | .time.speedup = 4'
	trial m a without '.id = "aaaa" | .time.speedup = 8'
	trial m b with '.id = "bbbb"'
} >records
run d2k-score --format json records
exits 0 "the same id twice is no error"
is "$(jq -c '[.duplicates, .counts.duplicates, .tasks[0].arms.without.speedup]' out)" '[["aaaa"],1,4]' \
	"the first counts, the other is told"
like "$(jq -c .warnings out)" 'repeated ids: 1 of 3 records do not count; the first is aaaa' "in the warnings too"
{
	echo '{"id":"x"'
	echo '{"id":"x","task":"a","arm":"sideways","model":"m","repeat":1}'
	echo '{"id":"x","task":"a","arm":"with","model":"m","repeat":0}'
	echo '{"id":7,"task":"a","arm":"with","model":"m","repeat":1}'
	echo '{"id":"y","task":"a","arm":"with","model":"m","repeat":1,"time":[],"judge":"x","agent":3,"build":null}'
} >records
run d2k-score --format json records
exits 1 "lines that are no trials: exit 1"
is "$(grep -c '^d2k-score: records:[1-4]: ' err)" 4 "each is named by its line"
is "$(jq -c '[.counts.unreadable, .counts.records, .models[0].arms.with.outcomes.not_run]' out)" "[4,1,0]" \
	"and counted; the rest is scored"

# Formats
{
	trial 'a|b, "c"' a without
	trial 'a|b, "c"' a with
	trial '=cmd()' a with '.time.speedup = null'
	trial "$(printf 'long%.0s' {1..40})" "$(printf 'task%.0s' {1..40})" with
	trial "$(printf 'é%.0s' {1..60})$(printf '\033[31m')" a with
} >records
d2k-score records >text
ok test "$(wc -L <text)" -le 100 -- "the text keeps within 100 columns"
ok test "$(grep -c "$(printf '\033')" text)" = 0 -- "and lets no control bytes through"
ok test "$(grep -c ' $' text)" = 0 -- "and leaves no blanks at the end of a line"
d2k-score --format csv records >table.csv
cat >read_csv.py <<'END'
import csv, sys
rows = list(csv.reader(open(sys.argv[1], newline="", encoding="utf-8")))
assert all(len(r) == 7 for r in rows), "fields"
assert rows[0] == ["table", "model", "task", "arm", "measure", "value", "n"], "header"
found = {tuple(r[:5]): r[5] for r in rows}
assert found["task", 'a|b, "c"', "a", "with", "speedup"] == "2", "value"
assert found["task", "'=cmd()", "a", "with", "speedup"] == "", "unknown is empty"
assert found["scale", "", "", "", "baseline"] == "1"
END
if [ -x "${D2K_PYTHON:-$D2K_ROOT/.venv/bin/python3}" ]; then
	ok "${D2K_PYTHON:-$D2K_ROOT/.venv/bin/python3}" read_csv.py table.csv -- "CSV, as Python reads it"
else
	skip "no Python environment" "CSV, as Python reads it"
fi
like "$(d2k-score --format markdown records)" '\| a\\\|b, "c" \|' "markdown escapes what would end a cell"
ok jq -e . <(d2k-score --format json records) -- "JSON is JSON"

# Command line
run d2k-score --incorrect torch records
exits 2 "PyTorch is not in the records"
like "$(<err)" 'give its speedup over the baseline as a number' "and the message says what to do"
for rule in 0 -1 nan inf 1x ''; do
	run d2k-score --incorrect "$rule" records
	exits 2 "--incorrect '$rule'"
done
run d2k-score --format html records
exits 2 "an unknown format"
run d2k-score no-such-file
exits 1 "a file that is not there"
status=0
d2k-score records >/dev/full 2>err || status=$?
exits 1 "a full disk is an error"
{ trial m a without; trial m a with; } >records
d2k-score --format json records >one
d2k-score --format json <records >two
ok cmp one two -- "standard input is as good as a file"
tac records | d2k-score --format json >two
ok cmp one two -- "the order of the records does not matter"

t_done
