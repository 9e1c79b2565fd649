#!/bin/bash
# d2k-build: the record rules, the store, tiers and targets, embedded bundles, a task's own two kernels, one file by hand.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/build.sh"
t_dir
build_root
run "$D2K_BUILD/tests/d2k-sandbox" -- true
[ "$status" = 0 ] || skip_all "$(<err)"
field() { jq -r ".build.$1" "${2:-out}"; }

# without baseline and expert
record ok >in.jsonl
run d2k-build in.jsonl
exits 0 'builds'
is "$(field status)" ok 'ok'
is "$(field cached)" false 'not from the store'
is "$(field source_sha256)" "$(sha256sum <submission | cut -c1-64)" 'the hash of the source'
is "$(jq -c '.build | [.target, .tier, .triton, .baseline, .expert]' out)" '["sm_90","bench","3.9.0",null,null]' 'what it was built for'
is "$(jq -c '.build.plans' out)" '[{"workload":"w","launches":1,"fills":0,"scratch_bytes":0}]' 'the plans'
is "$(jq -c '.build.kernels[0] | [.name, .num_warps, .num_ctas, .launches, .variants, .grids, .spills_bytes]' out)" \
	'["scale",4,1,1,1,[[63,1,1]],0]' 'the kernel'
ok test "$(field 'kernels[0].registers')" -ge 8 -- 'its registers'
bundle=$D2K_STORE/bundle/$(field bundle | cut -c1-2)/$(field bundle)
ok test -f "$bundle" -- 'the bundle is in the store'
is "$(sha256sum <"$bundle" | cut -c1-64)" "$(field bundle)" 'under the hash of its content'
is "$(jq -r .source "$bundle")" "$(<submission)" 'with the source'
is "$(jq -c '.plans[0].steps[0].variants[0].args' "$bundle")" '[{"ptr":"x","offset":0},{"ptr":"y","offset":0},{"i32":64000},{"f32":1}]' 'and its arguments'
is "$(jq -r '.kernels[0].cubin' "$bundle" | base64 -d | head -c 4 | tail -c 3)" ELF 'and a cubin'
like "$(jq -r '.kernels[0].ptx' "$bundle")" '\.target sm_90a' 'and PTX'

# again, from the store
cp out first
run d2k-build in.jsonl
is "$(jq -c '.build | del(.cached)' out)" "$(jq -c '.build | del(.cached)' first)" 'the same again'
is "$(field cached)" true 'from the store'
best=1000000
for _ in 1 2 3 4 5; do
	start=${EPOCHREALTIME//[.,]/}
	d2k-build in.jsonl >out
	took=$((${EPOCHREALTIME//[.,]/} - start))
	best=$((took < best ? took : best))
done
ok test "$best" -lt 500000 -- "in less time than Python takes to start, even on a busy machine ($((best / 1000)) ms)"
D2K_PYTHON=/nonexistent run d2k-build in.jsonl
exits 1 'another Python is another build'
like "$(<err)" 'cannot find Python' 'which needs that Python'
same in.jsonl out 'and without it the record passes as it is'
D2K_PYTHON=/bin/false run d2k-build in.jsonl
is "$(jq -r .build.status out)" tool_error 'a Python that does not start is not held against the submission'
like "$(jq -r .build.log out)" '^the recorder \(/bin/false\) did not start: exited 1: ' 'but told'
chmod u+w "$bundle" && echo >>"$bundle"
run d2k-build --embed in.jsonl
exits 1 'a damaged bundle is noticed'
like "$(<err)" 'damaged' 'and said'
rm "$bundle"
run d2k-build in.jsonl
is "$(field cached) $(field bundle)" "false $(field bundle first)" 'a lost bundle is built again, the same byte for byte'

# what is upstream passes byte for byte, and a section that is there stays
printf '%s\n' '{ "id":"a","x":0.30000000000000004,"y":1e400,"z":"\u0000\ud83d","n":9007199254740993,"task":"mini" ,"agent":{"submission":null,"status":"budget"}, "b":[1 ,2]}' >odd
run d2k-build odd
like "$(<out)" '"build":.*"status":"no_submission"' 'nothing handed in'
line=$(<odd)
is "$(cut -c1-"$((${#line} - 1))" out)" "${line%\}}" 'upstream byte for byte'
cp out once
run d2k-build once
same once out 'a finished record passes untouched'
run d2k-build --redo once
same once out '--redo replaces the section by the same'
sed 's/"status":"no_submission"/"status":"old"/' once >older
run d2k-build --redo older
same once out '--redo replaces an older section'
echo '{"id":"d","task":"mini","arm":"design","agent":{"status":"submitted","design":"words","submission":null}}' >design
run d2k-build design
is "$(field status) $(field bundle) $(field baseline)" 'no_submission null null' 'a design is no submission'

# records that cannot be processed
for bad in '{"id":"x","agent":{"submission":"a"}}' '{"id":"x","task":"mini"}' '{"id":"x","task":"nosuch","agent":{"submission":"a"}}' \
	'{"id":"x","task":"../mini","agent":{"submission":"a"}}' '{"id":"x","task":"mini","prompt":{"target":"sm_70"},"agent":{"submission":"a"}}'; do
	echo "$bad" >bad
	run d2k-build bad in.jsonl
	exits 1 "cannot process $bad"
	is "$(head -n 1 out)" "$bad" 'it passes as it is'
	like "$(<err)" '^d2k-build: bad:1: ' 'and is reported'
	is "$(jq -r 'select(.id == "ok") | .build.status' out)" ok 'the next record is built'
done

# tiers and targets
run d2k-build --tier smoke in.jsonl
is "$(jq -c '.build | [.tier, .plans[].workload]' out)" '["smoke","small"]' '--tier smoke'
is "$(jq -c '.plans[0].steps[0].variants[0].args[3]' "$D2K_STORE"/bundle/*/"$(field bundle)")" '{"f32":2.5}' 'with its parameters'
run d2k-build --tier all in.jsonl
is "$(jq -c '[.build.plans[].workload]' out)" '["w","small"]' '--tier all'
run d2k-build --target sm_100 in.jsonl
is "$(field status) $(field target)" 'ok sm_100' '--target sm_100'
like "$(jq -r '.kernels[0].ptx' "$D2K_STORE"/bundle/*/"$(field bundle)")" '\.target sm_100a' 'is compiled for'
jq -c '.prompt = {target: "sm_100"}' in.jsonl >for100
run d2k-build for100
is "$(field target)" sm_100 'the record says its target'
run d2k-build --target sm_70 in.jsonl
exits 2 'an unknown target is misuse'
run d2k-build --tier big in.jsonl
exits 2 'so is an unknown tier'

# a workload's numbers keep their kind: 1.0 is a float, 1 would be specialised away
sed -i 's/"factor":1.0/"factor":1/' "$root/workloads/mini.jsonl"
run d2k-build in.jsonl
is "$(field cached)" false 'other workloads are another build'
is "$(jq -c '.plans[0].steps[0].variants[0].args | length' "$D2K_STORE"/bundle/*/"$(field bundle)")" 3 'a parameter 1 is an int'

# arguments in the plan
plan() { # FILTER: of the bundle named by the record in ./out
	jq -c "$1" "$D2K_STORE"/bundle/*/"$(field bundle)"
}
record parameters >params.jsonl
run d2k-build params.jsonl
is "$(plan '.plans[0].steps[0].variants[0].args[2:]')" \
	'[{"i1":1},{"i32":63999},{"i64":1099511627776},{"i64":"9223372036854775783"},{"f32":"nan"},{"f16":1.5},{"bf16":2.5},{"f64":0.1},{"i16":-3}]' \
	'scalars of every type; None and 1 are specialised away'
is "$(plan '.kernels[0] | [.params, .num_ctas, .cluster]')" \
	'[["ptr","ptr","i1","i32","i64","i64","f32","f16","bf16","f64","i16"],2,[2,1,1]]' 'the parameters, and a cluster'
record everything >all.jsonl
run d2k-build all.jsonl
is "$(plan '.plans[0].steps | map([.op, (.variants // [] | length)])')" '[["fill",0],["launch",1],["launch",1],["launch",2]]' \
	'steps: an empty launch is none, a configuration that does not compile is dropped'
is "$(plan '.plans[0].steps[1].variants[0].args')" \
	'[{"tensormap":{"ptr":"x","offset":0,"dtype":7,"dims":[64,1000],"strides_bytes":[256],"box":[32,64],"element_strides":[1,1],"swizzle":3,"interleave":0,"l2promo":2,"oob":0}},{"i32":1000},{"i32":64},{"i64":64},{"i64":1},{"ptr":"scratch0","offset":0},{"i32":1000}]' \
	'a descriptor made on the host'
is "$(plan '.kernels[1].global_scratch_size')" 256 'scratch for descriptors made on the device'
is "$(plan '.plans[0].steps[3].variants[0].args')" \
	'[{"ptr":"x","offset":2560},{"ptr":"scratch0","offset":0},{"i32":63360},{"f32":"-inf"},{"ptr":"scratch0","offset":772},{"i32":17}]' \
	'views and tuples'
is "$(plan '.plans[0].buffers[2]')" '{"name":"scratch0","bytes":256000,"role":"scratch"}' 'scratch'

# the task's own two
fixture everything >"$root/tasks/mini/expert.py"
fixture ok >"$root/tasks/mini/baseline.py"
cat in.jsonl in.jsonl >two
run d2k-build two
is "$(jq -sc 'map(.build | [.baseline == .bundle, .expert != null, .cached])' out)" '[[true,true,true],[true,true,true]]' 'baseline and expert are named'
ok test -f "$D2K_STORE"/bundle/*/"$(head -n 1 out | jq -r .build.expert)" -- 'and built'
run d2k-build --embed in.jsonl
is "$(jq -c '.build.bundles | keys' out)" "$(jq -c '[.build.bundle, .build.expert] | sort' out)" '--embed: each bundle once'
for hash in $(jq -r '.build.bundles | keys[]' out); do
	ok grep -qF -f "$D2K_STORE/bundle/${hash:0:2}/$hash" out -- 'byte for byte as in the store'
done
record syntax >in2.jsonl
run d2k-build --embed in2.jsonl
is "$(jq -c '.build | [.status, .bundle, (.bundles | length)]' out)" '["syntax_error",null,2]' 'a failed submission still names both'
fixture compile >"$root/tasks/mini/expert.py"
run d2k-build in.jsonl
exits 0 'an expert that does not build'
is "$(jq -c '.build | [.status, .baseline != null, .expert]' out)" '["ok",true,null]' 'is null'
like "$(<err)" "expert.py of task 'mini' does not build: compile_error: submission.py:18" 'and said'
rm "$root/tasks/mini/expert.py"

# a submission that takes all the processes it may have takes none of the expert's
{
	printf 'import triton\nfor _ in range(80000000): pass\n' # until the other has them all
	fixture ok
} >"$root/tasks/mini/expert.py"
cat >bomb.py <<'END'
from triton import knobs
from triton.runtime import autotuner
os, time = knobs.os, autotuner.time


def run(x, y, *, factor):
    parent = os.getpid()
    for _ in range(12):
        try:
            os.fork()
        except OSError:
            pass
    if os.getpid() != parent:
        time.sleep(1000)
    time.sleep(6)
    os.fork()
END
sed -i 's/^from triton.runtime import autotuner$/import triton/; s/autotuner/triton.runtime.autotuner/' bomb.py
jq -cn --rawfile s bomb.py '{id: "b", task: "mini", agent: {submission: $s}}' >bomb.jsonl
run d2k-build bomb.jsonl
exits 0 'a submission that forks all it may'
like "$(field log)" 'BlockingIOError' 'has no process left'
is "$(jq -c '.build | [.status, .expert != null]' out)" '["host_error",true]' 'the expert is built all the same'
is "$(<err)" '' 'without a word'
rm "$root/tasks/mini/expert.py"
run d2k-build bomb.jsonl
is "$(field status) $(field cached)" 'host_error true' 'a failure is remembered'
cp out failed
run d2k-build --redo --timeout 2 failed
is "$(field status) $(field cached)" 'timeout false' 'but tried again on --redo'

# one file by hand
fixture ok >mine.py
run d2k-build --source mine.py --task mini
exits 0 '--source'
is "$(jq -c '[.task, .arm, .model, (.id | length), .build.status]' out)" '["mini","none","file",16,"ok"]' 'makes a record'
is "$(jq -r .agent.submission out)" "$(<mine.py)" 'with the file in it'
run d2k-build --source mine.py
exits 2 '--source without --task'
run d2k-build --source missing.py --task mini
exits 1 'a missing file'
run d2k-build --source mine.py --task nosuch
exits 1 'a missing task'
is "$(<out)" '' 'gives no record'

run "$D2K_PYTHON" "$root/tools/triton/record.py" --task mini mine.py
exits 0 'the recorder by hand'
like "$(<out)" 'status: ok.kernel 0 scale: [0-9]+ registers.*plan w: 1 steps.*grid \[63, 1, 1\] args x\+0 y\+0 64000' 'shows kernels and plans'
run "$D2K_PYTHON" "$root/tools/triton/record.py" --task mini <(fixture syntax)
exits 1 'a submission with an error'
like "$(<out)" 'status: syntax_error.submission.py:7' 'by hand too'
run "$D2K_PYTHON" "$root/tools/triton/interpret.py" --task mini mine.py
exits 0 'the interpreter by hand'
like "$(<out)" 'small: ok.  y \[100, 64\]: mean .* 0 not finite' 'shows the outputs'

# streams
run d2k-build </dev/null
exits 0 'empty input'
is "$(<out)" '' 'gives empty output'
printf 'no json\n{"a":1,"a":2}\n' | cat - in.jsonl >mixed
run d2k-build mixed
exits 1 'bad lines'
is "$(wc -l <out)" 1 'are dropped, the good one is kept'
status=0
d2k-build in.jsonl >/dev/full 2>err || status=$?
exits 1 'a full disk is an error'

# an interrupt: what is not done passes as it is, and the exit status says to come back
record loop >slow
cat slow in.jsonl >queue
d2k-build --timeout 60 queue >out 2>err &
pid=$!
sleep 1.5
kill -INT $pid
status=0
wait $pid || status=$?
exits 75 'interrupted'
same queue out 'everything unread passes as it is'
t_done
