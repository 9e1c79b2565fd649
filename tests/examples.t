#!/bin/bash
# What the texts show works: the submission that models are shown, the options and the files that README files name.
# shellcheck disable=SC2317 # functions are called through ok
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/time.sh"
t_dir

# The example of a submission fits the task `twice`.
project=$D2K_ROOT
time_root
sed -n '/^```python/,/^```/p' "$project/tools/prompt/submission.md" | sed '/^```/d' >submission.py
cp submission.py root/tasks/twice/baseline.py
cp submission.py root/tasks/twice/expert.py
run d2k-build --tier smoke --task twice --source submission.py
exits 0 "the submission that models are shown"
is "$(jq -r '.build.status, .build.log' out | xargs)" ok "builds"
mv out built.jsonl
run d2k-time --device cpu built.jsonl
is "$(jq -r '[.time.status] + [.time.workloads[].id] | join(" ")' out)" "correct small odd" "and is correct"
export D2K_ROOT=$project

# "NAME --option ..." in the code of a text: the program has that option.
named_options() { # FILE: "program --option" pairs of its code
	grep -oE '(d2k-[a-z]+|pipelines/[a-z]+|tools/setup)( +[^|`;]*)?' "$1" | tr '\t' ' ' | while read -r program rest; do
		for word in $rest; do
			[[ $word =~ ^--[a-z-]+$ ]] && echo "$program $word"
		done
	done | sort -u
}
has_option() { # PROGRAM OPTION
	local program=$1
	[[ $program == d2k-* ]] || program=$D2K_ROOT/$program
	"$program" --help >help.txt && grep -qE "(^|[ ,])$2( |\$)" help.txt
}
for text in README.md tasks/README.md; do
	named_options "$D2K_ROOT/$text" >pairs
	ok test -s pairs -- "$text names options"
	while read -r program option; do
		ok has_option "$program" "$option" -- "$text: $program has $option"
	done <pairs
done

# The map of the sources has every file of the library.
listed() { grep -qE "\`$1\`" "$D2K_ROOT/tools/README.md"; }
for file in "$D2K_ROOT"/tools/lib/*.[ch]; do
	noun=$(basename "${file%.*}")
	listed "$noun" || echo "$noun"
done | sort -u >unlisted
is "$(<unlisted)" "" "tools/README.md names every file of tools/lib"
t_done
