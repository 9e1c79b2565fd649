#!/bin/bash
# The benchmarks of the timer, run with a GPU and a PyTorch that are not there: what they write, and that they notice what is
# wrong.
. "$(dirname "$0")/lib.sh"
# shellcheck source=fake.sh
. "$D2K_ROOT/tests/fake.sh"
t_dir
bench=$D2K_ROOT/tests/bench aa=$D2K_ROOT/tests/bench/aa

# On the fake GPU a call takes what its kernel says; nothing is left to chance.
time_root
fake_gpu
fake_kernel own 10000 'EACH y[i] = factor * x[i];'
fake_kernel slower 10100 'EACH y[i] = factor * x[i];'
fake_kernel wrong 10000 'EACH y[i] = x[i];'
mkdir -p dir/{bin,records/{aa,slower,expert}}
cp -r root/. dir/
ln -s "$D2K_BIN/d2k-time" "$D2K_BUILD/tests/d2k-flush" dir/bin/
fake_record own own own >dir/records/aa/twice.jsonl
fake_record slower own own >dir/records/slower/twice.jsonl
fake_record own own own | jq -c '.build.seconds = 2' >dir/records/expert/twice.jsonl
unset D2K_STORE

run "$aa" run dir out-aa --runs 2 --max-time 1
exits 0 'aa: same is same, and one per cent is slower'
like "$(<out)" 'aa \| 0.5 % .* 2 same .*aa \| 0.1 % .* 2 same .*ab .* 2 slower ' 'each in every run'
like "$(grep '^| ab .*twice/large' out)" '\| 1 % \(0.98 to 1.02\) \|$' 'by that one per cent'
is "$(jq -c '[.bench.test, .bench.precision, .bench.run]' out-aa/aa.jsonl | tr -d '\n')" \
	'["aa",0.5,1]["aa",0.5,2]["aa",0.1,1]["aa",0.1,2]["long",0.1,1]["ab",0.5,1]["ab",0.5,2]' 'all records are there'
is "$(jq -s 'map(.time.workloads[0].samples.candidate | type) | join(" ")' out-aa/aa.jsonl)" \
	'"array number array number array array number"' 'with the samples of the first run of each'
run "$aa" run dir out-task --runs 1 --max-time 1 --test aa --precision 0.5 --task twice
exits 0 'aa: a part of it'

run env D2K_ROOT="$PWD/dir" D2K_STORE="$PWD/store" dir/bin/d2k-flush --calls 20 dir/records/slower/twice.jsonl
exits 0 'd2k-flush'
is "$(jq -c '[.flush_ns / 100, .stream_ns / 100, .empty_ns | round]' out)" '[101,101,0]' 'what a call takes'

cat >python <<'END'
#!/bin/bash
[ "$1" = -c ] || echo '{"correct":true,"speedup":1.5}'
END
chmod +x python
export D2K_TORCH_PYTHON=$PWD/python
run "$bench/versus" dir out-versus --runs 1 twice
exits 0 'versus'
like "$(<out)" 'twice \| cold \| [0-9.]+ \| 2 \| 0.*twice \| warm \| [0-9.]+ \| - \| 0' 'both ways, with and without a build'
is "$(jq -c '[.tool, .cache, .good]' out-versus/versus.jsonl | tr -d '\n')" \
	'["d2k-time","cold",true]["pytorch","cold",true]["d2k-time","warm",true]["pytorch","warm",true]' 'every run is there'
fake_record wrong own own >dir/records/expert/twice.jsonl
run "$bench/versus" dir out-versus --runs 1 twice
exits 1 'versus: what is wrong has no time'
like "$(<out)" 'twice \| cold \| - ' 'and none is shown'

run "$bench/stages" dir out-stages
exits 1 'stages: a record is wrong'
like "$(<out)" 'twice .*wrong' 'which is said'
like "$(<out)" 'start [0-9.]+, oracle [0-9.]+, .*time [0-9.]+' 'and where the time went'
t_done
