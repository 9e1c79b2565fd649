#!/bin/bash
# The pipelines' own manners, and rejudging: what they refuse, what they ask of the tools, what they leave alone.
. "$(dirname "$0")/lib.sh"
t_dir

for pipeline in paired rejudge demo; do
	run "$D2K_ROOT/pipelines/$pipeline" --help
	exits 0 "$pipeline --help"
	like "$(head -n 1 out)" "^example: pipelines/$pipeline" "begins with an example"
	run "$D2K_ROOT/pipelines/$pipeline" --nonsense
	exits 2 "$pipeline --nonsense"
	like "$(<err)" "^$pipeline: unknown argument '--nonsense'" "says what it does not know"
	is "$(cat out)" "" "and prints nothing else"
	run "$D2K_ROOT/pipelines/$pipeline" --jobs
	exits 2 "$pipeline: an option without its value"
done
run "$D2K_ROOT/pipelines/paired"
exits 2 "paired without --out"
run "$D2K_ROOT/pipelines/paired" --out x --jobs 0
exits 2 "paired with no jobs"
run "$D2K_ROOT/pipelines/paired" --out x --device gpu
exits 2 "paired with an unknown device"
run "$D2K_ROOT/pipelines/paired" --out x --device cpu --gpu-host h
exits 2 "paired with two devices"
ok test ! -e x -- "none of these made anything"
run "$D2K_ROOT/pipelines/rejudge"
exits 2 "rejudge without a judge"

# Rejudging. The judge is a script that finds nothing; every verdict is "no".
task=$(cd "$D2K_ROOT/tasks" && printf '%s\n' */task.json | head -n 1)
task=${task%/task.json}
jq -c '{content: ({verdicts: [.items[] | {id, verdict: "no", quotes: [], reason: "a test"}]} | tojson)}' \
	"$D2K_ROOT/guidance/$task.json" >judge.jsonl
record() { # ID JUDGE: a finished record, oddly spaced, with numbers that a careless reader would change
	printf '{"id":"%s", "task":"%s","arm":"without","model":"m","repeat":1,"x":[0.30000000000000004,1e400,"\\u0000"],' \
		"$1" "$task"
	printf '"agent":{"submission":"def run():\\n    pass\\n"},"judge":%s,"z":  9223372036854775808}\n' "$2"
}
for i in 1 2 3 4 5 6; do record "$i" '{"old":true}'; done >in.jsonl
run "$D2K_ROOT/pipelines/rejudge" --judge script:judge.jsonl --jobs 3 in.jsonl
exits 0 "rejudge"
mv out rejudged
is "$(jq -r '"\(.id) \(.judge.status) \(.judge.old)"' rejudged | xargs)" \
	"1 scored null 2 scored null 3 scored null 4 scored null 5 scored null 6 scored null" "all judged anew, in order"
blank() { # FILE: with the judge section's content taken out
	sed -E 's/"judge":.*,"z":  /"judge":,"z":  /' "$1"
}
blank in.jsonl >in.blank
blank rejudged >rejudged.blank
same rejudged.blank in.blank "all else is byte for byte the same"
run "$D2K_ROOT/pipelines/rejudge" --judge script:judge.jsonl <in.jsonl
same out rejudged "from stdin the same"
run "$D2K_ROOT/pipelines/rejudge" --judge no-such-judge in.jsonl
exits 1 "an unknown judge is an error"
same out in.jsonl "that leaves the records as they are"
run "$D2K_ROOT/pipelines/rejudge" --judge script:judge.jsonl </dev/null
exits 0 "nothing in"
is "$(cat out)" "" "nothing out"
t_done
