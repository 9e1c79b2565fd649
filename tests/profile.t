#!/bin/bash
# d2k-time --profile and --sanitize: on a GPU that is not there, with scripts for ncu and compute-sanitizer; without a GPU; and
# what happens when the vendor's programs are missing, fail or lie.
. "$(dirname "$0")/lib.sh"
# shellcheck source=fake.sh
. "$D2K_ROOT/tests/fake.sh"
t_dir

for wrong in '--sanitize leakcheck' '--sanitize' '--device cpu --sanitize memcheck'; do
	# shellcheck disable=SC2086
	run d2k-time $wrong </dev/null
	exits 2 "misuse: $wrong"
done

# profile FILTER: of the first workload's profile
profile() { jq -c ".time.workloads[0].profile | $1" out; }

# ---- on the fake GPU
time_root
fake_gpu
fake_kernel right 10000 'EACH y[i] = factor * x[i];'
fake_kernel slow 20000 'EACH y[i] = factor * x[i];'
fake_record right slow slow >in

# ncu counts the launches that the driver was told to have looked at
cat >ncu <<'END'
#!/bin/bash
echo "$@" >ncu.said
until [[ $1 == */d2k-time ]]; do shift; done
FAKE_PROFILER=$PWD/launches "$@" || { echo "==ERROR== The application returned an error code ($?)."; exit 1; }
echo '==PROF== Disconnected'
echo '"ID","Kernel Name","gpu__time_duration.sum","dram__bytes_read.sum","sm__warps_active.avg.pct_of_peak_sustained_active"'
echo '"","","ns","byte","%"'
n=0
while read -r _ grid _; do
	echo "\"$((n++))\",\"kernel\",\"1,234\",\"$grid\",\"50\""
done <launches
END
# the report ends as the program does
cat >compute-sanitizer <<'END'
#!/bin/bash
echo "$@" >sanitizer.said
until [[ $1 == */d2k-time ]]; do shift; done
echo '========= COMPUTE-SANITIZER'
"$@" || echo '========= Target application returned an error'
cat findings
END
chmod +x ncu compute-sanitizer
export D2K_NCU=$PWD/ncu D2K_SANITIZER=$PWD/compute-sanitizer

run d2k-time --profile in
exits 0 'a profile'
is "$(jq -r .time.status out)" correct 'beside a result'
is "$(profile '[.ns, .steps_ns, .kernels_left_out, .fills]')" '[10000,10000,0,0]' 'times of the plan'
is "$(profile '[.kernels[0] | .name, .steps, .ns, .share, .grid, .threads, .registers]')" \
	'["kernel",[0],10000,1,[8,1,1],128,32]' 'and of its kernel'
is "$(profile '.kernels[0].occupancy | [.blocks_per_sm, .limiter, .waves]')" '[16,"warps",0.125]' 'what fits, and why no more'
is "$(profile '.kernels[0].counters | [.ns, .dram_read_bytes, .dram_write_bytes, .occupancy]')" '[1234,8,null,0.5]' \
	'what ncu counted; what it did not is not known'
is "$(wc -l <launches)" 1 'in one call of the plan, without what prepares it'
is "$(profile '[.why_not.times, .why_not.counters]')" '[null,null]' 'nothing is missing'
like "$(profile .why_not.instructions)" 'disassembler failed|not found' 'but the instructions of what is no cubin'
is "$(profile '[.bytes, .bytes_per_s, .bound]')" '[8000,800000000,"memory"]' 'what the whole reaches'
is "$(jq -c '.time.workloads[0] | keys_unsorted[-1]' out)" '"profile"' 'as the last member of its workload'
run d2k-time in
is "$(jq -c '.time.workloads[0] | has("profile") and .profile == null' out)" true 'null when not asked for'

# steps: two launches of different kernels, and a fill between them
fake_kernel other 30000 'EACH y[i] = factor * x[i];'
fake_bundle right >right.json
fake_bundle other >other.json
jq -cj --slurpfile o other.json '.kernels += $o[0].kernels | .plans |= map(.buffers += [{name: "s", role: "scratch", bytes: 64}] |
	.steps += [{op: "fill", buffer: "s", offset: 0, bytes: 64, value: 0},
		(.steps[0] | .variants[0].kernel = 1), .steps[0]])' right.json >steps.json
hash=$(sha256sum <steps.json | cut -d' ' -f1)
record '# right' "$(jq -cn --arg h "$hash" --slurpfile b steps.json '{bundle: $h, bundles: {($h): $b[0]}}')" >steps.jsonl
rm launches
run d2k-time --profile steps.jsonl
is "$(profile '[.kernels[] | [.steps, .ns, .share]]')" '[[[2],30000,0.6],[[0,3],20000,0.4]]' 'steps by the kernel they launch, the longest first'
is "$(profile '[.fills, .fills_ns]')" '[1,0]' 'and fills'
is "$(profile '[.kernels[].counters.ns]')" '[1234,1234]' 'counters of each'

# ---- ncu missing, failing, lying
D2K_NCU=/nonexistent run d2k-time --profile in
is "$(jq -r .time.status out)" correct 'without ncu'
is "$(profile '[.kernels[0].counters, .why_not.counters]')" '[null,"$D2K_NCU is '\''/nonexistent'\'', where there is no ncu"]' \
	'there are no counters, and why'
is "$(profile .kernels[0].ns)" 10000 'but times'
cat >liar <<'END'
#!/bin/bash
printf '"ID","Kernel Name"\n"0","another\xff"\n'
END
chmod +x liar
D2K_NCU=./liar run d2k-time --profile in
like "$(profile .why_not.counters)" "ncu counted 'another.' where the plan launches 'kernel'" 'another kernel than the plan has'
is "$(jq -r .time.status out)" correct 'changes nothing else'

# ---- who may have a plan performed
run d2k-time --encore /proc/$$/fd/0
exits 1 'a process that asks without a job'
run d2k-time --encore job.json
like "$(<err)" "'job.json' is not what another d2k-time asks for" 'a file is no job'
# what the holder of the lock asked for, asked by another
cat >thief <<'END'
#!/bin/bash
until [[ $1 == */d2k-time ]]; do shift; done
exec 5<"$3"
"$1" --encore /proc/$$/fd/5 2>thief.said
END
chmod +x thief
D2K_NCU=./thief run d2k-time --profile in
like "$(<thief.said)" 'process [0-9]+, which asks for this, does not hold the lock of GPU' 'nor one whose lock another holds'

# ---- the sanitizer
echo '========= ERROR SUMMARY: 0 errors' >findings
run d2k-time --sanitize memcheck in
exits 0 'memcheck finds nothing'
is "$(jq -c '[.time.status, .time.sanitizer]' out)" \
	'["correct",{"tool":"memcheck","workloads":["small","odd"],"findings":0,"lines":[],"why_not":null}]' 'on the smoke workloads'
like "$(<sanitizer.said)" '^--tool memcheck .* --encore /proc/[0-9]+/fd/[0-9]+$' 'by the tool asked for'
is "$(grep -c sanitize err)" 0 'without a word'
printf '========= %s\n' 'Invalid __global__ write' "    at kernel" 'ERROR SUMMARY: 2 errors' >findings
run d2k-time --sanitize memcheck in
is "$(jq -c '[.time.status, .time.reason, .time.speedup, .time.sanitizer.findings, .time.sanitizer.lines, .time.sanitizer.workloads]' out)" \
	'["wrong","memcheck found 2 errors: Invalid __global__ write",null,2,["Invalid __global__ write","at kernel"],["small"]]' \
	'an error makes it wrong'
is "$(jq -r '.time.workloads[0].status' out)" correct 'whatever its outputs'
run d2k-time --sanitize initcheck in
is "$(jq -c '[.time.status, .time.sanitizer.findings]' out)" '["correct",2]' 'what proves nothing does not'
like "$(<err)" '--sanitize: initcheck found 2 errors' 'but is said'
fake_kernel faulty 10000 'launch->fault = 700;'
fake_record faulty slow slow >faulty.jsonl
run d2k-time --sanitize memcheck faulty.jsonl
is "$(jq -c '[.time.status, .time.sanitizer.findings]' out)" '["fault",2]' 'a kernel that faults is looked at too'
D2K_SANITIZER=/nonexistent run d2k-time --sanitize memcheck in
is "$(jq -c '[.time.status, .time.sanitizer.findings]' out)" '["correct",null]' 'no tool: nothing is known'
like "$(jq -r .time.sanitizer.why_not out) $(<err)" 'no compute-sanitizer .*--sanitize: .*no compute-sanitizer' 'which is said in both places'
t_done
