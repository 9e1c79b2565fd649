#!/bin/bash
# d2k-time when the driver, the device, the disk or the tool itself fails, on a GPU that is not there: that is never said to
# be the submission's doing, what is its doing is said to be, and the records behind are processed as if nothing had happened.
. "$(dirname "$0")/lib.sh"
# shellcheck source=fake.sh
. "$D2K_ROOT/tests/fake.sh"
fake_dir
fake_few
fake_peaks 0
export FAKE_FAIL_ONCE=$PWD/once
fakes=$D2K_BUILD/tests/fake

fake_kernel right 80000 'EACH y[i] = factor * x[i];'
fake_kernel wrong 80000 'EACH y[i] = x[i];'
fake_record right right right >good
fake_record wrong right right >behind	# shows at little cost that all of the tool works again

# time_it [OPTION...]: the record in `in`, and one behind it
time_it() {
	rm -f once
	cat behind >>in
	run d2k-time --max-time 0.01 "$@" in
}
# comes STATUS REASON NAME: what became of the two
comes() {
	exits 0 "$3"
	is "$(jq -r '.time.status' out | xargs)" "$1 wrong" "$3: $1, and the one behind it is examined"
	like "$(jq -rs '.[0].time.reason' out)" "$2" "$3: why"
	is "$(jq -cs '.[0].time | [.speedup, .vs_expert, (.workloads[] | .ns[], .speedup, .vs_expert, .verdict, .samples)] | unique' out)" \
		'[null]' "$3: no times"
}
# passes REASON NAME: there is no GPU for the first record
passes() {
	exits 75 "$2: try again later"
	same <(head -n 1 out) <(head -n 1 in) "$2: the record passes as it is"
	like "$(<err)" "d2k-time: in:1: no GPU to time on: $1.*--device cpu" "$2: why is said"
}

# ---- what is not there
mkdir lacking
ln -s "$fakes"/libnvidia-ml.so.1 lacking/
cat good good >in
LD_LIBRARY_PATH=$PWD/lacking run d2k-time in
passes 'no CUDA driver \(libcuda.so.1\)' 'no driver'
same out in 'no driver: nor is any other record touched'
sed 's/cuGraphUpload/cuGraphUplift/g' "$fakes/libcuda.so.1" >lacking/libcuda.so.1
LD_LIBRARY_PATH=$PWD/lacking run d2k-time in
passes 'the CUDA driver is too old: it lacks cuGraphUpload' 'a driver too old'
FAKE_DEVICES=0 run d2k-time in
passes 'cuInit: no device' 'no device'
cp good in
D2K_NVRTC=/nonexistent D2K_STORE=$PWD/empty run d2k-time in
exits 0 'no NVRTC'
is "$(jq -r '.time | .status, .speedup' out | xargs)" 'tool_error null' 'no NVRTC: a status of its own'
like "$(jq -r .time.reason out)" 'NVRTC' 'no NVRTC: why'
cp -r root broken
echo '#error "no oracle"' >>broken/tasks/twice/oracle.c
cp good in
D2K_ROOT=$PWD/broken run d2k-time in
is "$(jq -r '.time | .status' out | xargs)" tool_error 'an oracle that does not compile'
like "$(jq -r .time.reason out)" 'no oracle' 'the compiler'"'"'s words are in the reason'
rm lacking/*
sed 's/cuFuncGetParamInfo/cuFuncGetParamLost/g; s/cuProfilerStart/cuProfilerStall/g' "$fakes/libcuda.so.1" >lacking/libcuda.so.1
LD_LIBRARY_PATH=$PWD/lacking D2K_STORE=$PWD/fresh run d2k-time --max-time 0.01 in
is "$(jq -r '.time | .status, .speedup' out | xargs)" 'correct 1' 'what can be done without may be lacking: functions, and NVML'
is "$(jq -c '.time | .device.power_limit_mw, .device.other_processes, (.workloads[0] | .timing.temperature, (.clocks.sm_mhz.candidate | unique))' out | xargs)" \
	'null null null [null]' 'whose figures are not known'

# ---- memory, and a device that goes away
step='^large: kernel kernel \(step 1 of 1\):? '
fails() { # RULE STATUS-OR-passes REASON NAME
	cp good in
	FAKE_FAIL=$1 time_it
	if [ "$2" = passes ]; then
		passes "$3" "$4"
		is "$(jq -r '.time.status' out | xargs)" 'null wrong' "$4: the one behind it is examined"
	else
		comes "$2" "$3" "$4"
	fi
}
fails 'cuDevicePrimaryCtxRetain=2@1' passes 'cuDevicePrimaryCtxRetain: out of memory' 'no memory for a context'
fails 'cuModuleLoadData=2@1' tool_error '^cuModuleLoadData: out of memory' 'no memory for the oracle'
fails 'cuMemAlloc_v2=2@1' tool_error '^large: the workload does not fit the device: cuMemAlloc_v2' 'no memory for the references'
fails 'cuMemAlloc_v2=2@4' tool_error '^large: the workload does not fit the device: cuMemAlloc_v2' 'no memory for the sets'
fails 'cuMemAlloc_v2=2@12' tool_error '^large: the workload does not fit the device: cuMemAlloc_v2' 'none for the sets of a placement'
fails 'cuStreamCreate=46@1!' passes 'cuStreamCreate: device busy' 'a device lost before anything ran'
lost() { # RULE
	fails "$1" tool_error ' device busy or unavailable' "a device lost at $1"
}
lost 'cuModuleLoadData=46@1!'	# the oracle's
lost 'cuMemAlloc_v2=46@2!'
lost 'cuModuleUnload=46@1!'	# the first placement
lost 'cuStreamBeginCapture_v2=46@1!'
lost 'cuGraphLaunch=46@1!'
lost 'cuCtxResetPersistingL2Cache=46@1!'	# the first block
lost 'cuCtxResetPersistingL2Cache=46@50!'
lost 'cuEventElapsedTime=46@20!'
fails 'cuGraphLaunch=999@1+' tool_error '^large: cuGraphLaunch: ' 'an unknown error while timed'
fails 'cuStreamQuery=214@30+' tool_error '^large: cuStreamQuery: ' 'an uncorrectable error of the memory while timed'
fails 'cuEventElapsedTime=600@40' tool_error '^large: cuEventElapsedTime: ' 'an event that never came'
fails 'cuModuleLoadData=2@2' tool_error '^large: the workload does not fit the device: kernel kernel: cuModuleLoadData: out of memory' \
	'no memory for the candidate'"'"'s code'
fails 'cuModuleLoadData=2@3' tool_error '^large: .*cuModuleLoadData: out of memory' 'none for the baseline'"'"'s'
lost 'cuModuleLoadData=46@2!'	# the candidate's
fails 'cuModuleLoadData=214@2!' tool_error '^large: kernel kernel: cuModuleLoadData: ' 'an uncorrectable error while the candidate is loaded'
fails 'cuModuleLoadData=200@2' fault '^large: kernel kernel: cuModuleLoadData: ' 'an image that is refused is the candidate'"'"'s doing'
lost 'cuLaunchKernelEx=46@3!'	# the candidate's first
lost 'cuStreamQuery=46@1!'
fails 'cuStreamQuery=214@1!' tool_error "$step.*cuStreamQuery: " 'an uncorrectable error while the candidate is checked'
fails 'cuStreamQuery=999@1+' tool_error "$step.*cuStreamQuery: " 'an unknown error while it is checked'

# ---- the submission's own faults
does() { # STATEMENTS STATUS REASON NAME [OPTION...]
	fake_kernel own 80000 "EACH y[i] = factor * x[i]; $1"
	fake_record own right right >in
	time_it "${@:5}"
	comes "$2" "$3" "$4"
}
does 'launch->fault = 700;' fault "$step.*illegal memory access" 'an illegal address'
does 'launch->fault = 719;' fault "$step" 'a launch that fails'
does 'launch->fault = 702;' fault "$step" 'a launch that the driver ends'
does 'launch->hangs = 1;' timeout "${step}had not ended after 0.2 s" 'a kernel that does not end' --hang 0.2
does 'if (load > 3 && call > 1) launch->fault = 716;' fault '^large: while timed: ' 'a misaligned address while timed'
does 'if (load > 3 && call > 1) launch->hangs = 1;' timeout '^large: .* had not ended after 0.2 s' 'a kernel that does not end while timed' --hang 0.2
does 'launch->hangs = load > 1;' timeout '^large: right when checked, but a call had not ended after 0.2 s$' \
	'one that does not where it was moved' --hang 0.2 --timeout 6
does 'launch->hangs = load > 1 && call > 1;' timeout '^large: right when checked, but [0-9]+ calls had not ended after 0.2 s$' \
	'nor in its first lap' --hang 0.2 --timeout 6
does 'usleep(200000);' timeout '^large: not done after 0.5125 s$' 'one that is too slow for the record'"'"'s time' --timeout 0.5
does '} const int kernel_registers = 513; void other(void) {' fault "$step.*too many resources" 'a launch that the device refuses'
own() { # EDIT-OF-BUNDLE STATUS REASON NAME [KERNEL [OPTION...]]
	fake_edited "$1" "${5:-right}" right right >in
	time_it "${@:6}"
	comes "$2" "$3" "$4"
}
tuned='.plans |= map(.steps[0].variants |= [.[0] + {config: "one"}, .[0] + {config: "two"}])'
export FAKE_FAIL
for FAKE_FAIL in 'cuStreamBeginCapture_v2=46@1!' 'cuLaunchKernelEx=46@15!' 'cuStreamSynchronize=214@8!'; do
	own "$tuned" tool_error '^large: ' "autotuning that ends by $FAKE_FAIL"
done
unset FAKE_FAIL
for when in 1 5 50; do
	fake_kernel own 80000 "EACH y[i] = factor * x[i]; launch->hangs = call > $when;"
	own "$tuned" timeout '^large: a configuration, when autotuned, had not ended after 0.2 s$' "one of $when calls when autotuned" own \
		--hang 0.2 --timeout 6
done
own '.plans |= map(.steps[0].variants[0].args |= .[:3])' fault 'kernel takes 6 parameters, the plan gives 3' 'too few arguments'

# ---- the task's own faults
legs=(candidate baseline expert)
task_does() { # LEG STATEMENTS STATUS REASON NAME [OPTION...]
	local names=(right right right)

	fake_kernel own 80000 "EACH y[i] = factor * x[i]; $2"
	names[$1]=own
	fake_record "${names[@]}" >in
	time_it --hang 0.2 "${@:6}"
	comes "$3" "$4" "$5"
}
task_does 1 'launch->fault = 700;' tool_error "^large: the task's own baseline, kernel kernel: .*illegal" 'a baseline that faults'
task_does 1 'launch->hangs = 1;' tool_error "^large: the task's own baseline hangs" 'a baseline that does not end'
task_does 1 'y[5] = 0;' tool_error "^large: the task's own baseline is wrong: output y" 'a baseline that is wrong'
task_does 2 'launch->fault = 700;' tool_error "^large: the task's own expert, kernel kernel: .*illegal" 'an expert that faults'
task_does 2 'if (load > 3 && call > 1) launch->hangs = 1;' tool_error "^large: the task's own expert hangs" 'one that does not end while timed'
task_does 1 'launch->hangs = load > 1 && call > 1;' tool_error "^large: the task's own baseline hangs" 'a baseline that does not in its first lap' \
	--timeout 6
task_does 1 'if (load > 3 && call > 1) launch->fault = 700;' tool_error "^large: the task's own baseline, while timed: .*illegal" \
	'a baseline that faults while timed'
task_does 2 'if (load > 3 && call > 1) launch->fault = 716;' tool_error "^large: the task's own expert, while timed: " \
	'an expert that does'
late='^large: not done after 1.5125 s, of which [0-9.]+ s went into'
for leg in 1 2; do
	task_does $leg 'usleep(300000);' tool_error "$late the task's own ${legs[leg]}$" "the ${legs[leg]} takes all of the time" --timeout 1.5
done
cp -r root slow
sed -i '$s/{/{ for (volatile int k = 0; i >= 1000 \&\& k < 1000000; k++);/' slow/tasks/twice/oracle.c
cp good in
D2K_ROOT=$PWD/slow run d2k-time --tier smoke --max-time 0.01 in
is "$(jq -r .time.status out)" correct 'an oracle that is slow on what is large, compiled'
D2K_ROOT=$PWD/slow run d2k-time --timeout 2.5 --max-time 0.01 in
is "$(jq -r .time.status out)" tool_error 'takes all of the time'
like "$(jq -r .time.reason out)" "^large: not done after 2.5125 s, of which [0-9.]+ s went into the task's own oracle$" 'is said to'
cp good in
time_it --timeout 1.5 --max-time 2 --precision 0.0001
is "$(jq -r '.time | .status, .workloads[0].timing.ended_by' out | xargs)" 'correct max_time wrong null' '--max-time adds to --timeout'
is "$(jq -c '.time.workloads[0].timing | [.warm_seconds > 0, .warm_seconds < 0.5, .warm_stable]' out | head -n 1)" '[true,true,true]' \
	'warm-up ends when times no longer change'
fake_kernel own '80000 * pow(1.002, call % 1000)' 'EACH y[i] = factor * x[i];'
fake_record own right right >in
run d2k-time --max-time 0.01 in
is "$(jq -c '.time.workloads[0].timing | [.warm_seconds >= 0.5, .warm_stable]' out)" '[true,false]' 'or after half a second, which is told'
fake_kernel own 80000 'EACH y[i] = factor * x[i]; y[5] = 0;'
fake_record right right own >in
run d2k-time --max-time 0.01 in
is "$(jq -c '.time | [.status, .speedup, .vs_expert, (.workloads[0].ns.expert)]' out)" '["correct",1,null,null]' \
	'an expert that is wrong is not timed; the rest is'
like "$(jq -r '.time.workloads[0].message' out)" '^expert not timed: it is wrong: output y' 'and why is told'

# ---- the process
fake_kernel own 80000 'if (call == 1) { close(creat("reached", 0600)); sleep(60); } EACH y[i] = factor * x[i];'
fake_record own right right >in
cat behind good >>in
rm -f reached once
d2k-time --max-time 0.01 in >out 2>err &
for ((i = 0; i < 600; i++)); do
	[ -e reached ] && break
	sleep 0.1
done
kill -KILL "$(cat d2k-gpu-*.lock)"
status=0
wait $! || status=$?
exits 0 'a worker killed from outside'
is "$(jq -r '.time | .status, .speedup' out | xargs)" 'tool_error null wrong null correct 1' 'has a status of its own, and the next have theirs'
like "$(jq -rs '.[0].time.reason' out)" '^large: its process ended early \(signaled 9\)' 'why'

# ---- the store and the disk
hash=$(jq -r .build.bundle good)
jq -c 'del(.build.bundles)' good >stored
fill_store() {
	local h

	for h in "$hash" "$(jq -r .build.baseline good)"; do
		mkdir -p "$D2K_STORE/bundle/${h:0:2}"
		jq -cj --arg h "$h" '.build.bundles[$h]' good >"$D2K_STORE/bundle/${h:0:2}/$h"
	done
}
fill_store
run d2k-time --max-time 0.01 stored
is "$(jq -r '.time | .status, .speedup' out | xargs)" 'correct 1' 'bundles from the store'
truncate -s -1 "$D2K_STORE/bundle/${hash:0:2}/$hash"
cp stored in
time_it
comes tool_error "'.*' is damaged" 'a damaged bundle in the store'
echo >file
for store in "$PWD/file" "$PWD/file/in"; do
	D2K_STORE=$store run d2k-time --max-time 0.01 good
	is "$(jq -r '.time | .status, .speedup' out | xargs)" 'correct 1' "a store that cannot be written: only a cache"
done
d2k-time good >/dev/full 2>err && status=0 || status=$?
exits 1 'a full disk at stdout'
like "$(<err)" 'cannot write to stdout: No space left' 'is said'
if bwrap --dev-bind / / --size 4096 --tmpfs "$PWD/lacking" true 2>/dev/null; then
	full() { # VARIABLE: d2k-time with that folder on a disk that is full
		run bwrap --dev-bind / / --size 4096 --tmpfs "$PWD/lacking" bash -c \
			'dd if=/dev/zero of=lacking/filler 2>dd.err; env "$1=$PWD/lacking" d2k-time --max-time 0.01 in' . "$1"
	}
	cp good in
	full D2K_STORE
	is "$(jq -r '.time | .status, .speedup' out | xargs)" 'correct 1' 'a full disk at the store: only a cache'
	full D2K_LOCKS
	passes "cannot (open|write) '.*lock'.*No space left" 'a full disk at the locks'
else
	skip 'no user namespaces' 'a full disk'
fi
t_done
