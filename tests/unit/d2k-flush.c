/* Times records' submissions as most benchmarks do, to be held against d2k-time (tests/bench/methods).
 *
 * One JSON line for each bench workload, in nanoseconds a call: `flush_ns`, the median over calls that each follow the
 * overwriting of a buffer larger than L2 and stand between two events, launched from the host; `empty_ns`, such a pair
 * with nothing in it; `stream_ns`, calls back to back between one pair. With --walk only the last, and nothing else is
 * done with the submission's kernels, so that a profiler that skips the first --calls calls sees the same number again.
 * Where a record has been timed, autotuned steps launch what was chosen then. Nothing is checked here. */
#include "bundle.h"
#include "choice.h"
#include "claim.h"
#include "clock.h"
#include "emit.h"
#include "filter.h"
#include "oracle.h"
#include "replay.h"
#include "stats.h"
#include "subject.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SETS_MAX = 64, FLUSH_BYTES = 256 << 20 };
#define WARM_SECONDS 0.3	/* from an idle clock */

static struct {
	struct opt_list workloads;
	long long calls;
	bool walk;
} o = { .calls = 200 };

static const struct opt options[] = {
	{ 'w', "workload", OPT_LIST, &o.workloads, "ID", "only this workload", 0, 0 },
	{ 0, "calls", OPT_INT, &o.calls, "N", "calls of each kind", 1, 100000 },
	{ 0, "walk", OPT_FLAG, &o.walk, NULL, "only calls back to back, as often again before them to warm up", 0, 0 },
	OPT_END
};

static const struct opt_usage usage = {
	"d2k-flush", "[FILE...]", "d2k-build --embed <records.jsonl | d2k-flush",
	"Times each record's submission between two events after a flush of L2, and back to back in a stream."
};

/* One workload of a record on the GPU. */
struct bench {
	struct gpu *gpu;
	const struct gpu_info *info;
	const struct subject *subject;
	struct instance in;
	struct layout l;
	struct replay replay;
	struct set set[SETS_MAX];
	int nsets;
	uint64_t flush;
	void *from, *to;
};

/* ---- getting ready */

/* Variants that an earlier timing of this record has chosen. */
static void choose(struct bench *b, const struct json *time, const char *id)
{
	const struct json *w = json_first(json_get(time, "workloads"));

	while (w && (!json_get_str(w, "id") || strcmp(json_get_str(w, "id"), id)))
		w = json_next(w);
	choice_apply(&b->replay, json_path(w, "variants.candidate"));	/* none, as a rule */
}

/* As many sets as exceed L2 four times, each with inputs of its own. */
static int make_sets(struct bench *b, struct err *e)
{
	double want = ceil(4.0 * (double)b->info->l2_bytes / (double)b->l.size);
	uint64_t arena;

	b->nsets = (int)fmin(fmax(want, 2), SETS_MAX);
	if (gpu_alloc(b->gpu, b->l.size * (size_t)b->nsets, &arena, e))
		return -1;
	for (int i = 0; i < b->nsets; i++) {
		b->set[i].base = arena + (uint64_t)i * b->l.size;
		if (set_make(&b->l, &b->set[i], (uint64_t)i + 1, 2, e))
			return -1;
	}
	return 0;
}

static int open_workload(struct bench *b, struct engine *engine, const struct bundle *bundle, const struct workload *w,
			 struct err *e)
{
	const struct task *t = &b->subject->task;
	struct plan *p = bundle_plan(bundle, w->id);

	if (!p)
		return err_set(e, "the bundle has no plan for this workload");
	if (instance_open(&b->in, engine, t, w, e) || bundle_fits(p, t, b->in.bytes, e))
		return -1;
	layout_init(&b->l, &b->in, replay_scratch_bytes(bundle, p));
	return replay_open(&b->replay, b->gpu, bundle, p, &b->l, e) || make_sets(b, e) ||
	       gpu_alloc(b->gpu, FLUSH_BYTES, &b->flush, e) || !(b->from = gpu_event(b->gpu, e)) ||
	       !(b->to = gpu_event(b->gpu, e)) ? -1 : 0;
}

static void close_workload(struct bench *b)
{
	gpu_event_free(b->gpu, b->from);
	gpu_event_free(b->gpu, b->to);
	gpu_free(b->gpu, b->flush);
	gpu_free(b->gpu, b->set[0].base);
	if (b->replay.plan)
		replay_release(&b->replay);
	layout_release(&b->l);
	if (b->in.task)
		instance_release(&b->in);
}

/* ---- timing */

static int back_to_back(struct bench *b, double *ns, struct err *e)
{
	if (gpu_event_record(b->gpu, b->from, e))
		return -1;
	for (int i = 0; i < o.calls; i++)
		if (replay_call(&b->replay, b->set[i % b->nsets].base, e))
			return -1;
	if (gpu_event_record(b->gpu, b->to, e) || gpu_sync(b->gpu, e) || gpu_event_ns(b->gpu, b->from, b->to, ns, e))
		return -1;
	*ns /= (double)o.calls;
	return 0;
}

/* One call, or none, between two events after a flush. */
static int flushed(struct bench *b, bool call, double *ns, struct err *e)
{
	return gpu_fill(b->gpu, b->flush, 0, FLUSH_BYTES, e) || gpu_event_record(b->gpu, b->from, e) ||
	       (call && replay_call(&b->replay, b->set[0].base, e)) || gpu_event_record(b->gpu, b->to, e) ||
	       gpu_sync(b->gpu, e) || gpu_event_ns(b->gpu, b->from, b->to, ns, e) ? -1 : 0;
}

static int flushed_median(struct bench *b, bool call, double *ns, struct err *e)
{
	double *x = xcalloc((size_t)o.calls, sizeof(*x)), end = clock_now() + WARM_SECONDS;
	int rc = 0;

	while (!rc && clock_now() < end)
		rc = flushed(b, call, ns, e);
	for (int i = 0; i < o.calls && !rc; i++)
		rc = flushed(b, call, &x[i], e);
	*ns = rc ? NAN : stats_median(x, (size_t)o.calls);
	free(x);
	return rc;
}

static void emit_names(struct buf *out, const struct bench *b, const char *bundle)
{
	emit_kstr(out, "task", b->subject->task.name);
	emit_kstr(out, "workload", b->replay.plan->workload);
	emit_kstr(out, "bundle", bundle);
	emit_kint(out, "launches", b->replay.plan->launches);
	emit_kint(out, "fills", b->replay.plan->nsteps - b->replay.plan->launches);
	emit_kint(out, "calls", o.calls);
}

static int measure(struct bench *b, const char *bundle, struct err *e)
{
	double stream, flush = NAN, empty = NAN;
	struct buf out = BUF_INIT;

	if (gpu_l2_reset(b->gpu, e) || gpu_sync(b->gpu, e) ||
	    (!o.walk && (flushed_median(b, true, &flush, e) || flushed_median(b, false, &empty, e))) ||
	    back_to_back(b, &stream, e) || back_to_back(b, &stream, e))
		return -1;
	emit_open(&out, '{');
	emit_names(&out, b, bundle);
	emit_knum(&out, "flush_ns", rint(flush));
	emit_knum(&out, "empty_ns", rint(empty));
	emit_knum(&out, "stream_ns", rint(stream));
	emit_close(&out, '}');
	puts(out.data);
	fflush(stdout);
	buf_release(&out);
	return 0;
}

/* ---- records */

static void run_workloads(const struct subject *s, struct gpu *g, struct engine *engine, const struct bundle *bundle,
			  const struct json *time)
{
	for (int i = 0; i < s->job.nworkloads; i++) {
		struct bench *b = xcalloc(1, sizeof(*b));
		struct err e = { "" };
		int rc;

		*b = (struct bench){ .gpu = g, .info = gpu_info(g), .subject = s };
		rc = open_workload(b, engine, bundle, s->job.workloads[i], &e);
		if (!rc) {
			choose(b, time, s->job.workloads[i]->id);
			rc = measure(b, bundle->hash, &e);
		}
		if (rc && gpu_fault(g))
			die("%s: %s", s->job.workloads[i]->id, e.text);
		if (rc)
			warn("%s: %s", s->job.workloads[i]->id, e.text);
		close_workload(b);
		free(b);
	}
}

static int run_record(const struct record *r, struct gpu *g, struct err *e)
{
	const struct demand d = { .tier = "bench", .workloads = o.workloads, .seeds = 1 };
	struct json *build = record_get(r, "build", e), *time = record_get(r, "time", e);
	struct engine *engine = NULL;
	struct buf source = BUF_INIT;
	struct bundle bundle = { 0 };
	struct subject s = { 0 };
	int rc = -1;

	if (build && subject_open(&s, r, build, &d, e) == TIME_CORRECT && !oracle_source(&s.task, &source, e) &&
	    (engine = engine_gpu(g, &source, e)) &&
	    !bundle_parse(&bundle, s.job.bundle[LEG_CANDIDATE].data, s.job.bundle[LEG_CANDIDATE].len, e)) {
		run_workloads(&s, g, engine, &bundle, time);
		rc = 0;
	}
	bundle_release(&bundle);
	engine_close(engine);
	buf_release(&source);
	subject_release(&s);
	json_free(build);
	json_free(time);
	return rc;
}

static void say_wait(const char *what, void *ctx)
{
	(void)ctx;
	warn("waiting for %s", what);
}

int main(int argc, char **argv)
{
	int n = opt_parse(&usage, options, argc, argv), bad = 0, rc = 0;
	struct err e = { "" };
	struct claim c;
	struct reader *rd;
	struct record r;

	if (claim_gpu(&c, 0, say_wait, NULL, &e) || gpu_start(c.gpu, &e)) {
		warn("no GPU: %s", e.text);
		return EXIT_AGAIN;
	}
	rd = reader_open(argv, n);
	while (reader_next(rd, &r, &bad)) {
		e.text[0] = '\0';
		if (run_record(&r, c.gpu, &e)) {
			warn("%s: %s", r.where, *e.text ? e.text : "no build section");
			rc = EXIT_RECORD;
		}
	}
	reader_close(rd);
	return bad ? EXIT_RECORD : rc;
}
