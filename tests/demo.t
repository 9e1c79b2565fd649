#!/bin/bash
# The whole pipeline on the CPU: the demo, what it leaves, and what running it again does. Takes the project's store.
# shellcheck disable=SC2317 # functions are called through ok
. "$(dirname "$0")/lib.sh"
t_scratch
needs_sandbox

# The judge's script must fit the experts as they are: a quote that has gone stale is void.
for task in swiglu-dual-fp8-quant paged-gqa-decode-fp8kv muon-gram-orthogonalize; do
	jq -cn --rawfile s "$D2K_ROOT/tasks/$task/expert.py" --arg t $task \
		'{id: "x", task: $t, arm: "with", model: "m", repeat: 1, agent: {submission: $s}}' >expert.jsonl
	run d2k-judge --judge demo-judge expert.jsonl
	is "$(jq -r '.judge.status, (.judge.verdicts[] | select(.void) | .id)' out)" scored \
		"$task: every quote of the scripted judge is in expert.py"
done

run "$D2K_ROOT/pipelines/demo" --out "$PWD/demo"
exits 0 "pipelines/demo"
cp err progress
mv out report
records=demo/records.jsonl
is "$(jq -r '"\(.task) \(.arm)"' "$records" | sort | xargs -n 2 | uniq | wc -l)" 6 "six trials"
is "$(jq -r '[.agent.status, .agent.chosen_by, .build.status, .time.status, .judge.status] | join(" ")' "$records" | uniq)" \
	"submitted submit ok correct scored" "all solved, built, correct and judged"
is "$(jq -c '[.agent.checks[].status] | [(.[0] == "correct"), .[1]]' "$records" | uniq)" '[false,"correct"]' \
	"the model was told that something is wrong, and repaired it"
is "$(jq -c '[.agent.submission_sha256 == .build.source_sha256, .agent.submission_sha256 == .judge.source_sha256]' "$records" |
	uniq)" '[true,true]' "what was submitted was built and judged"
is "$(jq -c '[.time.comparable, .time.speedup]' "$records" | uniq)" '[false,null]' "times of the CPU are no speedups"
is "$(jq -r '.agent.transcript' "$records" | xargs -n 1 sha256sum | cut -d' ' -f1 | xargs)" \
	"$(jq -r .agent.transcript_sha256 "$records" | xargs)" "transcripts are where the records say"
is "$(jq -s -c 'group_by(.task)[] | map(.prompt.shared_hash) | unique | length' "$records" | uniq)" 1 \
	"the arms of a task share their hashes"
better() { # the expert's design scores higher than the baseline's, for every task
	jq -s -e 'group_by(.task) | map(map({key: .arm, value: .judge.scores.combined}) | from_entries) |
		all(.with > .without)' "$records" >/dev/null
}
ok better -- "the judge finds more of the design with guidance"
is "$(grep -c '^paired: .* checks [a-z_]* correct, agent submitted' progress)" 6 "progress is shown"
for what in scripted Correctness demo; do
	ok grep -q $what report -- "the report speaks of: $what"
done
ok test -s demo/report.md -- "and is kept as report.md"

# The table of fields in README.md: "| `build.status`, `.log` | ..." names build.status and build.log.
fields() {
	sed -n '/^## The record/,/^## What is timed/p' "$D2K_ROOT/README.md" | grep '^| `' | cut -d'|' -f2 |
		grep -oE '`[^`]+`' | tr -d '`' | while read -r field; do
		[[ $field != .* ]] || field=${section}$field
		section=${field%%.*}
		echo "$field"
	done
}
has_field() {
	jq -e --arg f "$1" '($f / ".") as $p | getpath($p[:-1]) | has($p[-1])' "$records" >has.out && ! grep -q false has.out
}
fields >fields.txt
ok test "$(wc -l <fields.txt)" -gt 30 -- "README.md names the fields"
while read -r field; do
	ok has_field "$field" -- "every record has $field"
done <fields.txt

# Again, nothing is left to do: the same bytes, at once.
cp "$records" before
SECONDS=0
run "$D2K_ROOT/pipelines/paired" --device cpu --out demo --model demo --judge demo-judge --task muon-gram-orthogonalize \
	--task paged-gqa-decode-fp8kv --task swiglu-dual-fp8-quant
exits 0 "the same trials again"
ok cmp <(sort before) <(sort "$records") -- "finished records pass through byte for byte"
ok test $SECONDS -lt 10 -- "and nothing is done twice"

# Broken off in the middle: what is missing is made again, what is there stays.
id=$(jq -r 'select(.task == "swiglu-dual-fp8-quant" and .arm == "with") | .id' "$records")
jq -c 'del(.time, .judge)' "demo/trials/$id.jsonl" >cut.jsonl
cp cut.jsonl "demo/trials/$id.jsonl"
run "$D2K_ROOT/pipelines/paired" --device cpu --out demo --model demo --judge demo-judge --task swiglu-dual-fp8-quant
exits 0 "a record that lost two sections"
ok cmp <(jq -c 'del(.time, .judge)' "demo/trials/$id.jsonl") cut.jsonl -- "keeps the others"
is "$(jq -r '.time.status + " " + .judge.status' "demo/trials/$id.jsonl")" "correct scored" "and gets them back"

# Rejudged, all else stays.
run "$D2K_ROOT/pipelines/rejudge" --judge demo-judge "$records"
exits 0 "rejudge"
ok cmp <(jq -c 'del(.judge)' out) <(jq -c 'del(.judge)' "$records") -- "rejudged records keep all other sections"
t_done
