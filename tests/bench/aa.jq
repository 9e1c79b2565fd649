# What the records of tests/bench/aa say: of each kernel and of each test as a whole, in objects (`.total` tells them
# apart). A record's .bench has test, precision and run. "aa": a bundle against itself; "ab": one made slower against the
# original; "long": the same once, for long, to know by how much.
def median: sort | if length == 0 then null elif length % 2 == 1 then .[length / 2 | floor]
	else (.[length / 2 - 1] + .[length / 2]) / 2 end;
def round_to($digits): if . == null then null else . * pow(10; $digits) | round / pow(10; $digits) end;
def hundredths: if . == null then null else (1 / . - 1) * 100 end;

# the runs of all kernels, one object each; a kernel without an interval counts as neither right nor wrong
def runs: [.[] | .bench as $b | .task as $task | .time as $time | $time.workloads[]?
	| {test: $b.test, precision: $b.precision, kernel: "\($task)/\(.id)", status: .status, seconds: $time.seconds,
	   ns: .ns.baseline, verdict, ratio: .speedup, low: .speedup_ci[0]?, high: .speedup_ci[1]?,
	   ended_by: .timing.ended_by?, placements: .timing.placements?}
	| .measured = (.status == "correct" and (.low | type) == "number" and (.high | type) == "number")
	| .off = if .measured then [.low - 1, 1 - .high, 0] | max else null end];

def facts: {runs: length, measured: map(select(.measured)) | length,
	excludes_1: map(select(.measured and .off > 0)) | length,
	worst_percent: ((map(.off // 0) | max // 0) * 100 | round_to(4)),
	verdicts: (reduce (.[] | .verdict // "none") as $v ({}; .[$v] += 1)),
	reached_precision: (map(select(.ended_by == "precision")) | length)};

def right($verdict): .verdicts[$verdict] // 0;
def passes: .measured == .runs and .runs > 0
	and if .test == "ab" then right("slower") >= 0.95 * .runs
	    else .excludes_1 <= 0.07 * .runs and .worst_percent <= 0.2 and right("same") == .runs end;

runs as $all
| ($all | map(select(.test == "long" and .measured)) | map({key: .kernel, value: .}) | from_entries) as $long
| ($all | map(select(.test == "aa" or .test == "ab")) | group_by([.test, -.precision])[]
	| (group_by(.kernel) | sort_by(.[0].ns // 0)[]
		| {total: false, test: .[0].test, precision: .[0].precision, kernel: .[0].kernel} + facts
		+ {ns: (map(.ns | numbers) | median | round_to(1)), half_width_percent:
			(map(select(.measured) | (.high - .low) * 50) | median | round_to(4)),
		   placements: (map(.placements | numbers) | median)}
		+ if .[0].test == "ab" then $long[.[0].kernel] as $t | {slower_by_percent: ($t.ratio | hundredths | round_to(3)),
			low: ($t.high | hundredths | round_to(3)), high: ($t.low | hundredths | round_to(3))} else {} end),
	  ({total: true, test: .[0].test, precision: .[0].precision} + facts | .passes = passes)),
  ($all | map(select(.test == "aa")) | select(map(.precision) | unique | length > 1)
	| {total: true, test: "aa", precision: null} + facts | .passes = passes)
