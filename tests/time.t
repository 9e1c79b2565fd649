#!/bin/bash
# d2k-time without a GPU: what it refuses before it would need one, and that it says so when it does.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/time.sh"
t_dir
time_root

run d2k-time --help
exits 0 'help'
like "$(<out)" '--device.*--seeds.*--version.*oracle.*:.*--check-oracle' 'help names the options, those for oracles apart'
run d2k-time --version
is "$(<out)" 'd2k-time 0.1.0' 'version'
for wrong in '--device gpu' '--device -1' '--tier large' '--device cpu --tier bench' '--seeds 65' '--timeout 0' '--seed x --check-oracle twice' \
	--check-gpu '--check-oracle twice --dump-oracle twice' '--dump-oracle twice' '--check-oracle twice --check-gpu --device cpu'; do
	# shellcheck disable=SC2086
	run d2k-time $wrong </dev/null
	exits 2 "misuse: $wrong"
	is "$(wc -l <err)" 1 'in one line'
done
run d2k-time </dev/null
exits 0 'no records'
is "$(wc -c <out)" 0 'nothing'

# no device of that number, or no driver at all
source=$(submission 'tl.store(y + i, factor * tl.load(x + i, mask=i < n), mask=i < n)')
# an ELF header, and one section of no kind
elf=f0VMRgIBAQAAAAAAAAAAAAIAvgABAAAAAAAAAAAAAAAAAAAAAAAAAEAAAAAAAAAAAAAAAEAAOAAAAEAAAQA$(printf 'A%.0s' {1..88})=
bundle() {
	jq -cj --arg s "$source" --arg sha "$(printf %s "$source" | sha256sum | cut -d' ' -f1)" \
		--arg w "$(sha256sum <root/workloads/twice.jsonl | cut -d' ' -f1)" --arg elf "$elf" -n '
		{version: 1, task: "twice", target: "sm_90", triton: "3.9.0", source: $s, source_sha256: $sha,
		task_hash: ("a" * 64), workloads_hash: $w,
		kernels: [{name: "k", cubin: $elf,
			shared: 0, num_warps: 4, num_ctas: 1}],
		plans: [{workload: "large", buffers: [{name: "x", bytes: 4000000, role: "in"}, {name: "y", bytes: 4000000, role: "out"}],
			steps: [{op: "launch", variants: [{kernel: 0, grid: [1, 1, 1], args: []}]}]}]}'
}
bundle >bundle.json
hash=$(sha256sum <bundle.json | cut -d' ' -f1)
good=$(record "$source" "$(jq -cn --arg h "$hash" --slurpfile b bundle.json '{bundle: $h, bundles: {($h): $b[0]}}')")
printf '%s\n' "$good" '{"id":"s","time":{"status":"correct"},"x":0.30000000000000004}' >in
run d2k-time --device 99 <in
exits 75 'no GPU: try again later'
same out in 'records pass through as they are'
like "$(<err)" '^d2k-time: <stdin>:1: no GPU .*--device cpu' 'and it is said, with the way out'
is "$(wc -l <err)" 1 'for the record that needs one only'

# what needs no GPU to be said
ask() { # RECORD-OR-FILE WANTED-STATUS REASON NAME
	printf '%s\n' "$1" >in
	run d2k-time --device 99 <in
	exits 0 "$4"
	is "$(jq -r .time.status out)" "$2" "$4: $2"
	like "$(jq -r .time.reason out)" "$3" "$4: the reason"
	is "$(jq '.time.speedup == null and .time.seconds == null and ([.time.workloads[] | select(.ns.candidate != null)] | length == 0)' out)" true "$4: no times"
}
ask "$(jq -c '.build.status = "compile_error"' <<<"$good")" not_built 'build: compile_error' 'a build that failed'
ask "$(jq -c '.agent.submission += "\n"' <<<"$good")" stale 'not the one that was built' 'a submission changed after its build'
ask "$(jq -c --arg sha "$(printf x | sha256sum | cut -d' ' -f1)" '.agent.submission = "x" | .build.source_sha256 = $sha' <<<"$good")" \
	stale 'another source' 'a bundle of another source'
ask "$(jq -c '.build.bundles[].target = "sm_91"' <<<"$good")" tool_error 'does not have its hash' 'a bundle changed on its way'
other() { # EDIT: the good record with another bundle, under its own hash
	local text hash

	text=$(jq -cj "$1" bundle.json)
	hash=$(printf %s "$text" | sha256sum | cut -d' ' -f1)
	jq -c --arg h "$hash" --argjson b "$text" '.build.bundle = $h | .build.bundles = {($h): $b}' <<<"$good"
}
ask "$(other '.plans = []')" tool_error "no plan for workload 'large'" 'a bundle without a plan for a workload'
ask "$(other '.plans[0].buffers[1].bytes = 8')" tool_error "'y' has 8 bytes" 'a plan for tensors of other sizes'
ask "$(other '.plans[0].buffers[1].role = "scratch"')" tool_error "1 of the task's 2 tensors" 'a plan that makes an output its scratch'
ask "$(other '.kernels[0].cubin |= .[:80] + "Ag" + .[82:]')" invalid "kernel 'k': .*sections" 'a cubin whose sections lie nowhere'
ask "$(jq -c 'del(.build.bundles)' <<<"$good")" tool_error 'neither in the record nor in the store' 'a bundle that is nowhere'
ask "$(jq -c 'del(.build.bundle)' <<<"$good")" tool_error 'build.bundle is missing' 'a build without a bundle'
ask "$(jq -c '.task = "../twice"' <<<"$good")" tool_error 'no name of a task' 'a task that is a path'
ask "$(jq -c '.task = "thrice"' <<<"$good")" tool_error 'thrice' 'an unknown task'

echo "$source" >root/tasks/twice/baseline.py
ask "$(jq -c '.build.baseline = .build.bundle' <<<"$good")" stale 'baseline.py was made from another' 'a baseline that is not the task'"'"'s'

run d2k-time --device 99 <<<'{"id":"u"}'
exits 1 'a record without a build'
is "$(<out)" '{"id":"u"}' 'passes'
like "$(<err)" 'run d2k-build before' 'with advice'
run d2k-time --device 99 --redo <<<'{"time":{"status":"wrong"},"build":{"status":"no_submission"},"z":1}'
is "$(jq -c 'keys_unsorted' out)" '["time","build","z"]' '--redo replaces the section where it stands'
is "$(jq -r .time.status out)" not_built 'with a new one'
run d2k-time --device 99 /nonexistent
exits 1 'a file that is not there'
t_done
