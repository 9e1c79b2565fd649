/* d2k-time: is the submission right, and how fast? Reads records with a `build` section and adds `time`.
 *
 * Plans recorded by d2k-build are replayed on the GPU through the CUDA driver: no host code of a submission runs
 * here. Each record is handled by a process of its own (tools/lib/gpurun.h), so one that faults or hangs harms no
 * other. With --device cpu the submission runs under Triton's interpreter in a sandbox, on the small smoke workloads,
 * for correctness alone. */
#include "calibrate.h"
#include "child.h"
#include "claim.h"
#include "die.h"
#include "emit.h"
#include "encore.h"
#include "filter.h"
#include "opt.h"
#include "oraclefile.h"
#include "oraclegpu.h"
#include "profile.h"
#include "review.h"
#include "tolerance.h"
#include "work.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
	const char *device, *tier, *check_oracle, *dump_oracle, *seed, *dir, *target, *sanitize, *tolerance;
	struct opt_list workloads;
	long long seeds;
	double timeout, hang, precision, max_time;
	bool redo, stages, check_gpu, calibrate, self_test, profile;
} o = { .device = "0", .seed = "1", .target = "sm_90", .timeout = 120, .hang = 20, .precision = 0.5, .max_time = 2 };

static const struct opt opts[] = {
	{ 'd', "device", OPT_STR, &o.device, "N|any|cpu",
		"number of the GPU; any: the first that is free; cpu: Triton's interpreter, for correctness alone", 0, 0 },
	{ 0, "tier", OPT_STR, &o.tier, "TIER", "bench (the default on a GPU) or smoke (on the CPU)", 0, 0 },
	{ 'w', "workload", OPT_LIST, &o.workloads, "ID", "only this workload of the tier", 0, 0 },
	{ 's', "seeds", OPT_INT, &o.seeds, "COUNT",
		"seeds per workload, one of them fresh; 0: 3 on a GPU, 2 on the CPU", 0, SEEDS_MAX },
	{ 't', "timeout", OPT_SECONDS, &o.timeout, "SECONDS",
		"give up on a record (on the CPU: a workload); waiting for the GPU and --max-time come on top", 0, 0 },
	{ 0, "hang", OPT_SECONDS, &o.hang, "SECONDS", "give up on one launch (on the CPU: one run)", 0, 0 },
	{ 'p', "precision", OPT_PERCENT, &o.precision, "PERCENT",
		"time until the speedup's 95 % interval is this wide to either side; 0.1 for published runs", 0, 0 },
	{ 0, "max-time", OPT_SECONDS, &o.max_time, "SECONDS", "or until a workload has been timed this long", 0, 0 },
	{ 0, "self-test", OPT_FLAG, &o.self_test, NULL,
		"time each submission against itself: exit status 1 unless all verdicts are \"same\"", 0, 0 },
	{ 0, "profile", OPT_FLAG, &o.profile, NULL,
		"afterwards tell where the time goes and what kernels are made of; ncu's counters where it may", 0, 0 },
	{ 0, "sanitize", OPT_STR, &o.sanitize, "TOOL",
		"afterwards run compute-sanitizer: memcheck, racecheck, initcheck or synccheck", 0, 0 },
	{ 0, "redo", OPT_FLAG, &o.redo, NULL, "replace a time section that is there", 0, 0 },
	{ 0, "stages", OPT_FLAG, &o.stages, NULL, "say on stderr where the time of each record went", 0, 0 },
	OPT_GROUP("a task's tolerances, by records of submissions meant to be right or wrong (pipelines/tolerance)"),
	{ 0, "calibrate-tolerance", OPT_STR, &o.tolerance, "TASK",
		"check each on many seeds, and report how far off the limits they lie; seeds: 20", 0, 0 },
	OPT_GROUP("without records: what the GPU can do at most"),
	{ 0, "calibrate", OPT_FLAG, &o.calibrate, NULL,
		"measure its bandwidth and arithmetic anew, print them, and keep them for floors", 0, 0 },
	OPT_GROUP("looking at a task's oracle, without records"),
	{ 0, "check-oracle", OPT_STR, &o.check_oracle, "TASK",
		"compile it for the host and a GPU, and show what it makes on the host", 0, 0 },
	{ 0, "target", OPT_STR, &o.target, "SM", "the GPU's architecture; no GPU is needed", 0, 0 },
	{ 0, "check-gpu", OPT_FLAG, &o.check_gpu, NULL,
		"run it on the GPU too and compare, or on the tier bench tell its times", 0, 0 },
	{ 0, "dump-oracle", OPT_STR, &o.dump_oracle, "TASK",
		"write the inputs and references of one --workload as files", 0, 0 },
	{ 0, "dir", OPT_STR, &o.dir, "DIR", "the folder for them", 0, 0 },
	{ 0, "seed", OPT_STR, &o.seed, "N", "the inputs' seed", 0, 0 },
	OPT_END
};

static bool self_test_failed;	/* for a record */

static const struct opt_usage usage = {
	"d2k-time", "[FILE...]", "d2k-build <records.jsonl | d2k-time >timed.jsonl",
	"Checks each record's built submission on every workload and seed, times it beside the task's baseline and\n"
	"expert, and adds the section `time`. Without a GPU (and without --device cpu) records pass through unchanged,\n"
	"exit status 75."
};

static bool on_cpu(void)
{
	return !strcmp(o.device, "cpu");
}

static bool on_any(void)
{
	return !strcmp(o.device, "any");
}

static int gpu_number(void)
{
	return on_any() ? CLAIM_ANY : on_cpu() ? 0 : atoi(o.device);
}

static const char *tier(void)
{
	return o.tier ? o.tier : on_cpu() ? "smoke" : "bench";
}

static int seeds(void)
{
	return o.seeds ? (int)o.seeds : o.tolerance ? 20 : on_cpu() ? 2 : 3;
}

/* ---- the section */

/* A record's parts. */
struct entry {
	const struct record *r;
	struct json *build;
	struct subject subject;
	struct outcome outcome;
	double seconds;			/* NaN: nothing was run */
};

static void emit_hash(struct buf *out, const char *key, const struct entry *x, bool there)
{
	emit_kstr(out, key, there ? json_get_str(x->build, key) : NULL);
}

/* Whether the task's own baseline or expert is there to be timed. */
static bool times_own(const struct entry *x, int leg)
{
	return !on_cpu() && !o.self_test && x->subject.job.bundle[leg].len;
}

static void emit_seeds(struct buf *out, const struct job *j)
{
	emit_key(out, "seeds");
	emit_open(out, '[');
	for (int i = 0; i < j->nseeds; i++)
		emit_seed(out, j->seeds[i]);
	emit_close(out, ']');
	if (j->nseeds)
		emit_kseed(out, "fresh_seed", job_fresh_seed(j));
	else
		emit_knull(out, "fresh_seed");
}

static void emit_section(struct buf *out, const struct entry *x)
{
	const struct outcome *result = &x->outcome;

	emit_open(out, '{');
	emit_kstr(out, "tool", "d2k-time " D2K_VERSION);
	emit_kstr(out, "status", time_status_name[result->status]);
	emit_kstr(out, "reason", result->reason.len ? result->reason.data : NULL);
	if (on_cpu())
		emit_kraw(out, "device", "{\"name\":\"cpu-interpreter\"}", 26);
	else if (result->device.len)
		emit_kraw(out, "device", result->device.data, result->device.len);
	else
		emit_knull(out, "device");
	emit_kbool(out, "comparable", !on_cpu() && !strcmp(tier(), "bench") && !o.self_test);
	emit_kbool(out, "self_test", o.self_test);
	emit_kstr(out, "tier", tier());
	emit_seeds(out, &x->subject.job);
	emit_hash(out, "bundle", x, true);
	emit_hash(out, "baseline", x, times_own(x, LEG_BASELINE));
	emit_hash(out, "expert", x, times_own(x, LEG_EXPERT));
	outcome_emit(out, result);
	emit_key(out, "compiler_notes");
	if (o.profile)
		profile_notes(out, json_get_str(x->build, "log"));
	else
		emit_null(out);
	emit_kgiven(out, "seconds", round(x->seconds * 1e3) / 1e3);
	emit_kgiven(out, "waited_seconds", round(result->waited * 1e3) / 1e3);
	emit_close(out, '}');
}

static void say_sanitized(const struct entry *x)
{
	struct buf words = BUF_INIT;

	if (outcome_sanitizer_words(&x->outcome, &words))
		warn("%s: --sanitize: %s", x->r->where, words.data);
	buf_release(&words);
}

static enum filter_result finish(struct entry *x, struct buf *out)
{
	outcome_settle(&x->outcome);
	say_sanitized(x);
	if (o.stages && x->outcome.phases.len)
		warn("%s: %.4g s: %s", x->r->where, x->seconds, x->outcome.phases.data);
	if (o.self_test && !outcome_verdicts(&x->outcome, x->r->where))
		self_test_failed = true;
	emit_section(out, x);
	return FILTER_ADD;
}

static enum filter_result fail(struct entry *x, struct buf *out, enum time_status status, const char *why)
{
	x->outcome.status = status;
	buf_addstr(&x->outcome.reason, why);
	return finish(x, out);
}

static struct demand demand(void)
{
	return (struct demand){ .cpu = on_cpu(), .device = gpu_number(), .tier = tier(), .workloads = o.workloads,
				.seeds = seeds(), .hang = o.hang, .precision = o.precision / 100, .max_time = o.max_time,
				.self_test = o.self_test, .profile = o.profile, .tolerance = o.tolerance,
				.sanitizer = o.sanitize ? sanitizer_named(o.sanitize) : SANITIZER_NONE };
}

static enum filter_result run(struct entry *x, struct buf *out)
{
	struct err e = { "" };
	struct demand d = demand();
	enum time_status status = subject_open(&x->subject, x->r, x->build, &d, &e);
	struct work work = { .subject = &x->subject, .outcome = &x->outcome, .cpu = on_cpu(), .timeout = o.timeout };
	int rc;

	outcome_init(&x->outcome, &x->subject.job);
	if (status != TIME_CORRECT)
		return fail(x, out, status, e.text);
	if (!on_cpu())
		work.timeout += review_seconds(&x->subject.job);
	rc = work_run(&work, &e);
	x->seconds = work.seconds;
	if (rc) {
		warn("%s: %s", x->r->where, e.text);
		return child_interrupted ? FILTER_STOP : FILTER_AGAIN;
	}
	if (x->outcome.again.len) {
		warn("%s: no GPU to time on: %s (--device cpu checks correctness without one)", x->r->where,
		     x->outcome.again.data);
		return FILTER_AGAIN;
	}
	if (on_cpu() && o.profile)
		review_static(&x->subject, &x->outcome);
	return finish(x, out);
}

static enum filter_result process(const struct record *r, struct buf *out, void *ctx)
{
	struct entry x = { .r = r, .seconds = NAN };
	struct err e = { "" };
	const char *status;
	enum filter_result result;

	(void)ctx;
	x.build = record_get(r, "build", &e);
	status = json_get_str(x.build, "status");
	if (!status) {
		warn("%s: no build section: run d2k-build before d2k-time", r->where);
		json_free(x.build);
		return FILTER_BAD;
	}
	if (strcmp(status, "ok")) {
		outcome_init(&x.outcome, &x.subject.job);
		snprintf(e.text, sizeof(e.text), "build: %.200s", status);
		result = fail(&x, out, TIME_NOT_BUILT, e.text);
	} else {
		result = run(&x, out);
	}
	outcome_release(&x.outcome);
	subject_release(&x.subject);
	json_free(x.build);
	return result;
}

/* ---- main */

static uint64_t seed_option(void)
{
	char *end;
	uint64_t seed;

	errno = 0;
	seed = strtoull(o.seed, &end, 0);
	if (!*o.seed || *end || errno || *o.seed == '-')
		die_usage("--seed '%s' is not a number", o.seed);
	return seed;
}

static void check_options(void)
{
	size_t digits = strspn(o.device, "0123456789");

	if (!on_cpu() && !on_any() && (!digits || digits > 3 || o.device[digits]))
		die_usage("--device '%s' is neither a number, nor any, nor cpu", o.device);
	if (o.tier && strcmp(o.tier, "bench") && strcmp(o.tier, "smoke"))
		die_usage("--tier '%s' is neither bench nor smoke", o.tier);
	if (on_cpu() && !strcmp(tier(), "bench"))
		die_usage("the CPU runs smoke workloads only");
	if (o.dump_oracle && (!o.dir || o.workloads.n != 1))
		die_usage("--dump-oracle needs --dir and one --workload");
	if (o.dump_oracle && o.check_oracle)
		die_usage("--check-oracle and --dump-oracle do not go together");
	if (o.self_test && on_cpu())
		die_usage("--self-test needs a GPU");
	if (o.sanitize && sanitizer_named(o.sanitize) == SANITIZER_NONE)
		die_usage("--sanitize '%s' is neither memcheck, racecheck, initcheck nor synccheck", o.sanitize);
	if (o.sanitize && on_cpu())
		die_usage("--sanitize needs a GPU");
	if (o.calibrate && (on_cpu() || o.check_oracle || o.dump_oracle))
		die_usage("--calibrate needs a GPU, and no oracle");
	if (o.tolerance && (o.calibrate || o.check_oracle || o.dump_oracle || o.self_test || o.profile || o.sanitize))
		die_usage("--calibrate-tolerance goes with options of the check alone");
	if (o.check_gpu && (!o.check_oracle || on_cpu()))
		die_usage("--check-gpu needs --check-oracle and a GPU");
	seed_option();
}

/* --check-oracle, --dump-oracle */
static int oracle_by_hand(void)
{
	const char *name = o.check_oracle ? o.check_oracle : o.dump_oracle;
	struct buf out = BUF_INIT;
	struct task t;
	struct err e;
	int rc;

	if (task_load(&t, name, &e))
		die("%s: %s", name, e.text);
	if (o.dump_oracle)
		rc = oraclefile_dump(&t, o.workloads.v[0], seed_option(), o.dir, &e);
	else if (o.check_gpu)
		rc = oraclegpu_check(&t, o.tier ? o.tier : "smoke", gpu_number(), seed_option(), &out, &e);
	else
		rc = oraclefile_check(&t, o.tier ? o.tier : "smoke", o.target, seed_option(), &out, &e);
	if (out.len)
		fputs(out.data, stdout);
	buf_release(&out);
	task_release(&t);
	if (rc)
		die("%s: %s", name, e.text);
	stdout_close();
	return EXIT_DONE;
}

/* --calibrate */
static int calibrate_by_hand(void)
{
	struct buf out = BUF_INIT;
	struct err e = { "" };
	int rc = calibrate_device(gpu_number(), &out, &e);

	if (rc < 0)
		die("nothing was measured: %s", e.text);
	if (rc)
		warn("no GPU to measure: %s", e.text);
	else if (e.text[0])
		warn("not kept, because %s", e.text);
	if (out.len)
		fputs(out.data, stdout);
	buf_release(&out);
	stdout_close();
	return rc ? EXIT_AGAIN : EXIT_DONE;
}

int main(int argc, char **argv)
{
	struct filter f = { .section = "time", .process = process };
	int n, rc;

	if (argc == 3 && !strcmp(argv[1], ENCORE_OPTION)) {	/* not a user's: encore.h */
		die_program = usage.name;
		return encore_perform(argv[2]);
	}
	n = opt_parse(&usage, opts, argc, argv);
	check_options();
	if (o.calibrate)
		return calibrate_by_hand();	/* an interrupt ends it */
	if (o.check_oracle || o.dump_oracle)
		return oracle_by_hand();	/* the same */
	child_catch_interrupts();
	if (o.tolerance) {
		struct demand d = demand();

		return tolerance_run(o.tolerance, &d, o.timeout, argv, n);
	}
	f.redo = o.redo;
	rc = filter_run(&f, argv, n);
	return rc == EXIT_DONE && self_test_failed ? EXIT_RECORD : rc;
}
