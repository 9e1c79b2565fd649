/* Checking and timing one record's plans on a GPU: correct first, then timed, then checked again.
 *
 * While a plan under test runs, no reference for its data exists on the device: the oracle is evaluated afterwards,
 * from inputs generated anew into a set of its own (the pristine set), against which the inputs are compared too. */
#include "gpurun.h"
#include "clock.h"
#include "emit.h"
#include "file.h"
#include "peaks.h"
#include "result.h"
#include "stats.h"
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum { PLACEMENTS = 4, ROUNDS_MIN = 8, ROUNDS_MAX = 48, SETS_MIN = 2, SETS_MAX = 128 };
#define TIMING_NS 4e8	/* aim for all blocks of one workload together */

enum phase { PHASE_START, PHASE_ORACLE, PHASE_MEMORY, PHASE_LOAD, PHASE_CHECK, PHASE_CHOOSE, PHASE_TIME, PHASES };
static const char *const phase_name[PHASES] = { "start", "oracle", "memory", "load", "check", "choose", "time" };

struct site {
	const struct job *job;
	int fd;
	struct gpu *gpu;
	struct gpu_info info;
	struct engine *engine;
	struct rng rng;
	struct bundle bundle[LEGS];
	bool have[LEGS];		/* parsed and for this device */
	struct err lacks[LEGS];		/* why not */
	double spent[PHASES], mark;

	/* one workload */
	const struct workload *w;
	struct instance in;
	struct layout l;
	struct result r;
	struct replay replay[LEGS];
	bool ready[LEGS];		/* replay open and, for the task's own, right */
	bool in_place;			/* the task has inout tensors */
	uint64_t arena, pristine;
	int nsets, filled;		/* sets with data */
	uint64_t base[SETS_MAX], seed[SETS_MAX], poison[SETS_MAX];
	int order[SETS_MAX];
	struct walk walk;
};

/* Charges the time since the last call to a phase. */
static void spend(struct site *s, enum phase p)
{
	double t = clock_now();

	s->spent[p] += t - s->mark;
	s->mark = t;
}

static void say(const struct site *s, char letter, const char *text)
{
	struct buf b = BUF_INIT;
	size_t done = 0;

	buf_addf(&b, "%c%s%s", letter, *text ? " " : "", text);
	for (size_t i = 0; i < b.len; i++)
		if (b.data[i] == '\n')
			b.data[i] = ' ';
	buf_addch(&b, '\n');
	while (done < b.len) {
		ssize_t n = write(s->fd, b.data + done, b.len - done);

		if (n < 0 && errno != EINTR)
			_exit(1);	/* nobody listens any more */
		done += n > 0 ? (size_t)n : 0;
	}
	buf_release(&b);
}

static void say_failed(const struct site *s, enum time_status status, const char *why)
{
	char *text = xasprintf("%s %s", time_status_name[status], why);

	say(s, 'S', text);
	free(text);
}

/* ---- the device */

/* Waits for the device's lock, which the process holds until it ends; the file holds its pid for people. */
static int lock_device(struct site *s, struct err *e)
{
	char *path = xasprintf("/tmp/d2k-gpu-%s.lock", s->info.uuid);
	int fd = open(path, O_RDWR | O_CLOEXEC), rc = 0;

	if (fd < 0)
		fd = open(path, O_RDWR | O_CLOEXEC | O_CREAT, 0666);
	if (fd < 0)
		rc = err_set(e, "cannot open '%s':", path);
	if (!rc && flock(fd, LOCK_EX | LOCK_NB)) {
		say(s, 'W', "");
		while ((rc = flock(fd, LOCK_EX)) && errno == EINTR)
			;
		if (rc)
			err_set(e, "cannot lock '%s':", path);
	}
	if (!rc && (ftruncate(fd, 0) || dprintf(fd, "%ld\n", (long)getpid()) < 0))
		rc = err_set(e, "cannot write '%s':", path);
	free(path);
	return rc;
}

static void say_device(const struct site *s)
{
	const struct gpu_info *i = &s->info;
	struct buf b = BUF_INIT;
	char text[32];

	emit_open(&b, '{');
	emit_kstr(&b, "name", i->name);
	emit_kstr(&b, "uuid", i->uuid);
	emit_kstr(&b, "driver", i->driver[0] ? i->driver : NULL);
	snprintf(text, sizeof(text), "%d.%d", i->cuda / 1000, i->cuda % 1000 / 10);
	emit_kstr(&b, "cuda", text);
	emit_kint(&b, "sm_count", i->sm_count);
	emit_kint(&b, "l2_bytes", i->l2_bytes);
	emit_kint(&b, "memory_bytes", i->memory_bytes);
	snprintf(text, sizeof(text), "%d.%d", i->cc / 10, i->cc % 10);
	emit_kstr(&b, "compute_capability", text);
	emit_close(&b, '}');
	say(s, 'D', b.data);
	buf_release(&b);
}

/* ---- bundles */

/* A bundle for another task, another version of it, or another device must not be run. */
static enum time_status check_bundle(const struct site *s, const struct bundle *b, struct err *e)
{
	const struct task *t = s->job->task;
	char arch[16], *path = xasprintf("%s/task.json", t->dir), hash[HASH_HEX];
	int rc = hash_file(path, hash, e);

	free(path);
	gpu_arch(s->gpu, arch);
	if (rc)
		return TIME_TOOL_ERROR;
	if (strcmp(b->task, t->name)) {
		err_set(e, "the bundle is of task '%s'", b->task);
		return TIME_STALE;
	}
	if (strcmp(b->task_hash, hash) || strcmp(b->workloads_hash, t->workloads_hash)) {
		err_set(e, "the bundle was built for another version of the task or of its workloads");
		return TIME_STALE;
	}
	if (strcmp(b->target, arch)) {
		err_set(e, "built for %s, the device is %s", b->target, arch);
		return TIME_UNSUPPORTED;
	}
	return TIME_CORRECT;
}

static int load_bundles(struct site *s)
{
	for (int k = 0; k < LEGS; k++) {
		const struct buf *text = &s->job->bundle[k];
		enum time_status status = TIME_CORRECT;

		if (!text->len) {
			err_set(&s->lacks[k], "no bundle");
			continue;
		}
		if (bundle_parse(&s->bundle[k], text->data, text->len, &s->lacks[k]))
			status = TIME_TOOL_ERROR;
		else
			status = check_bundle(s, &s->bundle[k], &s->lacks[k]);
		s->have[k] = status == TIME_CORRECT;
		if (k == LEG_CANDIDATE && !s->have[k]) {
			say_failed(s, status, s->lacks[k].text);
			return -1;
		}
	}
	return 0;
}

/* ---- failures of a workload */

/* Something failed while the plan of leg k ran: its own fault, unless it is one of the task's. */
static void run_failed(struct site *s, int k, const char *why)
{
	const struct replay *r = &s->replay[k];
	const char *kernel = r->plan ? replay_step_name(r, r->step) : "?";

	if (k == LEG_CANDIDATE)
		result_fail(&s->r, TIME_FAULT, "kernel %s (step %d of %d): %s", kernel, r->step + 1, r->plan->nsteps,
			    why);
	else
		result_fail(&s->r, TIME_TOOL_ERROR, "the task's own %s, kernel %s: %s", leg_name[k], kernel, why);
}

static void tool_failed(struct site *s, const char *why)
{
	result_fail(&s->r, TIME_TOOL_ERROR, "%s%s",
		    gpu_out_of_memory(s->gpu) ? "the workload does not fit the device: " : "", why);
}

/* ---- sets */

static int count_sets(struct site *s, struct err *e)
{
	double tensors = 0, call, want;
	size_t available;
	int most;

	for (int i = 0; i < s->in.task->ntensors; i++)
		tensors += (double)s->in.bytes[i];
	/* what a call touches may be less than what it is given (pages of a cache): the task's formula says */
	call = s->in.least_bytes > 0 && s->in.least_bytes < tensors ? s->in.least_bytes : tensors;
	want = ceil(4.0 * (double)s->info.l2_bytes / fmax(call, 1));
	s->nsets = want < SETS_MIN ? SETS_MIN : want > SETS_MAX ? SETS_MAX : (int)want;
	if (gpu_memory_free(s->gpu, &available, e))
		return -1;
	most = (int)fmin(0.92 * (double)available / (double)s->l.size - 1, SETS_MAX);
	if (s->nsets > most)
		s->nsets = most;
	return s->nsets >= 1 ? 0 : err_set(e, "a set of %zu bytes does not fit the device", s->l.size);
}

/* Poison and the inputs of a seed into set i; on request outputs are NaN (or -1) instead of noise. */
static int prepare(struct site *s, int i, uint64_t seed, uint64_t poison, bool nan, struct err *e)
{
	uint64_t *tensors = xcalloc((size_t)s->l.ntensors + 1, sizeof(*tensors));
	int rc;

	s->seed[i] = seed;
	s->poison[i] = poison;
	set_addresses(&s->l, s->base[i], tensors);
	rc = set_poison(s->engine, &s->l, s->base[i], s->poison[i], e);
	for (int t = 0; t < s->l.ntensors && nan && !rc; t++)
		if (s->in.task->tensors[t].role == ROLE_OUT)
			rc = gpu_fill(s->gpu, tensors[t], 0xff, s->l.tensor[t].bytes, e);
	rc = rc || instance_generate(&s->in, seed, tensors, e);
	free(tensors);
	return rc ? -1 : 0;
}

/* Data for the sets that have none yet: each its own, from the fresh seed. */
static int fill_sets(struct site *s, struct err *e)
{
	for (; s->filled < s->nsets; s->filled++)
		if (prepare(s, s->filled, s->job->seeds[s->job->nseeds - 1] + 1 + (uint64_t)s->filled, rng_next(&s->rng),
			    false, e))
			return -1;
	return gpu_sync(s->gpu, e);
}

/* ---- judging a run that has ended */

/* References for the data of set i, by way of the pristine set. */
static int make_reference(struct site *s, int i, struct err *e)
{
	uint64_t *tensors = xcalloc((size_t)s->l.ntensors + 1, sizeof(*tensors));
	int rc;

	set_addresses(&s->l, s->pristine, tensors);
	rc = set_poison(s->engine, &s->l, s->pristine, s->poison[i], e) ||
	     instance_generate(&s->in, s->seed[i], tensors, e) || instance_reference(&s->in, s->seed[i], tensors, e);
	free(tensors);
	return rc ? -1 : 0;
}

/* Compares outputs in set o (in place: set i) with the references. 0 right, 1 wrong (words), -1 error. */
static int judge_outputs(struct site *s, int i, int o, bool keep, struct buf *words, struct err *e)
{
	int wrong = 0;

	for (int t = 0; t < s->l.ntensors; t++) {
		const struct tensor *tensor = &s->in.task->tensors[t];
		struct output out;

		if (tensor->role == ROLE_IN)
			continue;
		if (compare_output(&s->in, t, s->base[tensor->role == ROLE_OUT ? o : i] + s->l.tensor[t].offset, &out,
				   e))
			return -1;
		if (keep)
			result_keep(&s->r, &out);
		if (!out.ok) {
			if (wrong++)
				buf_addstr(words, "; ");
			compare_words(words, &s->in, &out);
		}
	}
	return wrong ? 1 : 0;
}

/* The whole judgement of leg k's run that read set i and wrote set o, references being made. */
static int judge(struct site *s, int k, int i, int o, struct buf *words, struct err *e)
{
	const struct replay *r = &s->replay[k];
	int rc = judge_outputs(s, i, o, k == LEG_CANDIDATE, words, e);

	if (!rc)
		rc = set_inputs(s->engine, &s->l, &s->in, s->base[i], s->pristine, words, e);
	if (!rc)
		rc = set_bands(s->engine, &s->l, &s->in, r->scratch, r->scratch_name, r->nscratch, s->base[o],
			       s->poison[o],
			       words, e);
	if (!rc && i != o)
		rc = set_bands(s->engine, &s->l, &s->in, NULL, NULL, 0, s->base[i], s->poison[i], words, e);
	return rc;
}

/* ---- correctness */

/* One run of leg k on set 0 that holds fresh data; 0, or -1 and the result says why. */
static int run_once(struct site *s, int k, bool careful)
{
	struct err e = { "" };
	int rc;

	if (careful) {
		rc = replay_careful(&s->replay[k], s->base[0], s->base[0], s->job->hang, &e);
	} else {
		rc = replay_call(&s->replay[k], s->base[0], s->base[0], &e);
		if (!rc)
			rc = gpu_wait(s->gpu, s->job->hang, &e);
	}
	if (rc < 0)
		run_failed(s, k, e.text);
	else if (rc > 0 && k == LEG_CANDIDATE)
		result_fail(&s->r, TIME_TIMEOUT, "kernel %s (step %d of %d) had not ended after %g s",
			    replay_step_name(&s->replay[k], s->replay[k].step), s->replay[k].step + 1,
			    s->replay[k].plan->nsteps, s->job->hang);
	else if (rc > 0)
		result_fail(&s->r, TIME_TOOL_ERROR, "the task's own %s hangs", leg_name[k]);
	return rc ? -1 : 0;
}

static int check_seed(struct site *s, int n)
{
	struct buf words = BUF_INIT;
	struct err e = { "" };
	int rc = -1;

	if (prepare(s, 0, s->job->seeds[n], rng_next(&s->rng), n % 2 == 0, &e) || gpu_sync(s->gpu, &e)) {
		tool_failed(s, e.text);
		return -1;
	}
	if (!run_once(s, LEG_CANDIDATE, n == 0)) {
		rc = make_reference(s, 0, &e) || gpu_sync(s->gpu, &e) ? -1 : judge(s, LEG_CANDIDATE, 0, 0, &words, &e);
		if (rc < 0)
			tool_failed(s, e.text);
		else if (rc > 0)
			result_fail(&s->r, TIME_WRONG, "%s", words.data);
	}
	if (s->r.status != TIME_CORRECT) {
		s->r.has_seed = true;
		s->r.seed = s->job->seeds[n];
	}
	buf_release(&words);
	return rc ? -1 : 0;
}

/* The task's own baseline or expert on the last seed, whose references are there still. It is not timed unless it is
 * right. */
static int check_own(struct site *s, int k)
{
	struct buf words = BUF_INIT;
	struct err e = { "" };
	int rc;

	if (prepare(s, 0, s->seed[0], s->poison[0], true, &e) || gpu_sync(s->gpu, &e)) {
		tool_failed(s, e.text);
		return -1;
	}
	if (run_once(s, k, true))
		return -1;
	rc = judge(s, k, 0, 0, &words, &e);
	if (rc < 0) {
		tool_failed(s, e.text);
	} else if (rc > 0 && k == LEG_BASELINE) {
		result_fail(&s->r, TIME_TOOL_ERROR, "the task's own baseline is wrong: %s", words.data);
	} else if (rc > 0) {
		s->ready[k] = false;
		err_set(&s->lacks[k], "it is wrong: %s", words.data);
		rc = 0;
	}
	buf_release(&words);
	return rc ? -1 : 0;
}

/* ---- autotuned steps */

static bool has_variants(const struct replay *r)
{
	for (int i = 0; i < r->plan->nsteps; i++)
		if (r->plan->steps[i].nvariants > 1)
			return true;
	return false;
}

static int choose(struct site *s, int k)
{
	struct buf other = BUF_INIT;
	struct err e = { "" };
	int rc;

	if (!has_variants(&s->replay[k]))
		return 0;
	spend(s, PHASE_CHECK);
	rc = walk_choose(&s->walk, &s->replay[k], k == LEG_CANDIDATE ? &s->r.variants : &other, &e);
	if (rc)
		run_failed(s, k, e.text);
	if (k == LEG_CANDIDATE && rc)
		buf_reset(&s->r.variants);
	buf_release(&other);
	spend(s, PHASE_CHOOSE);
	return rc;
}

/* ---- timing */

/* Graphs of all legs for one placement, each run once so that its first use is behind it. */
static int make_graphs(struct site *s, struct leg *legs, struct err *e)
{
	for (int k = 0; k < LEGS; k++) {
		if (!s->ready[k])
			continue;
		legs[k].graph = walk_graph(&s->walk, &s->replay[k], legs[k].calls, e);
		if (!legs[k].graph || gpu_graph_run(s->gpu, legs[k].graph, e))
			return -1;
	}
	return gpu_sync(s->gpu, e);
}

static void free_graphs(struct site *s, struct leg *legs)
{
	for (int k = 0; k < LEGS; k++) {
		gpu_graph_free(s->gpu, legs[k].graph);
		legs[k].graph = NULL;
	}
}

/* A first look at every leg, which also raises the clocks; then how many calls make a block and how many rounds fit. */
static int plan_rounds(struct site *s, struct leg *legs, int *per_placement, struct err *e)
{
	double round_ns = 0;
	int rounds;

	for (int k = 0; k < LEGS; k++) {
		void *graph;
		int rc;

		if (!s->ready[k])
			continue;
		graph = walk_graph(&s->walk, &s->replay[k], s->nsets, e);
		if (!graph)
			return -1;
		rc = (k == LEG_CANDIDATE && walk_warm(&s->walk, graph, s->nsets, 0.3, e)) ||
		     walk_look(&s->walk, graph, s->nsets, &legs[k].estimate, e);
		gpu_graph_free(s->gpu, graph);
		if (rc)
			return -1;
		legs[k].calls = walk_calls(&s->walk, &s->replay[k], legs[k].estimate, s->in_place);
		round_ns += legs[k].calls * legs[k].estimate;
	}
	rounds = (int)fmin(fmax(TIMING_NS / round_ns, ROUNDS_MIN), ROUNDS_MAX);
	*per_placement = (rounds + PLACEMENTS - 1) / PLACEMENTS;
	return 0;
}

/* The candidate's graph once more, on a set whose outputs and scratch have just been poisoned, and a judgement of
 * what it leaves there. In place: the set's inputs are made anew, and the graph uses each set once. */
static int check_timed(struct site *s, const struct leg *leg, struct err *e)
{
	uint64_t *tensors = xcalloc((size_t)s->l.ntensors + 1, sizeof(*tensors));
	struct slot scratch = { s->l.scratch, s->l.size - s->l.scratch };
	int o = rng_below(&s->rng, s->nsets), i = o, in, out, rc = 0;
	struct buf words = BUF_INIT;

	for (int c = 0; c < leg->calls; c++) {
		walk_sets(&s->walk, c, &in, &out);
		if (out == o)
			i = in;		/* the last call that writes set o reads set i */
	}
	for (int t = 0; t < s->l.ntensors && !rc; t++)
		if (s->in.task->tensors[t].role == ROLE_OUT)
			rc = slot_poison(s->engine, &s->l.tensor[t], s->base[o], s->poison[o], e);
	rc = rc || slot_poison(s->engine, &scratch, s->base[o], s->poison[o], e);
	set_addresses(&s->l, s->base[i], tensors);
	if (s->in_place)
		rc = rc || instance_generate(&s->in, s->seed[i], tensors, e);
	rc = rc || gpu_graph_run(s->gpu, leg->graph, e) || gpu_sync(s->gpu, e) || make_reference(s, i, e) ||
	     gpu_sync(s->gpu, e);
	if (!rc)
		rc = judge(s, LEG_CANDIDATE, i, o, &words, e);
	if (rc > 0) {
		result_fail(&s->r, TIME_WRONG, "right when checked, wrong when timed: %s", words.data);
		s->r.has_seed = true;
		s->r.seed = s->seed[i];
		rc = 0;
	} else if (!rc) {
		rc = instance_forget(&s->in, e);
	}
	free(tensors);
	buf_release(&words);
	return rc ? -1 : 0;
}

static int placements(struct site *s, struct leg *legs, int rounds, struct err *e)
{
	int checked = rng_below(&s->rng, PLACEMENTS), rc = 0;

	for (int p = 0; p < PLACEMENTS && !rc && s->r.status == TIME_CORRECT; p++) {
		s->walk.shift = p;
		rng_shuffle(&s->rng, s->order, s->nsets);
		rc = gpu_l2_reset(s->gpu, e) || make_graphs(s, legs, e) ||
		     walk_rounds(&s->walk, legs, p * rounds, rounds, &s->rng, e);
		for (int i = 0; i < rounds; i++)
			s->r.placement[p * rounds + i] = p;
		if (!rc && p == checked)
			rc = check_timed(s, &legs[LEG_CANDIDATE], e);
		free_graphs(s, legs);
	}
	return rc ? -1 : 0;
}

static double median(const long long *x, int n)
{
	double *d = xcalloc((size_t)n + 1, sizeof(*d)), m;

	for (int i = 0; i < n; i++)
		d[i] = (double)x[i];
	m = stats_median(d, (size_t)n);
	free(d);
	return m;
}

static void conclude(struct site *s)
{
	struct result *r = &s->r;
	double candidate = median(r->legs[LEG_CANDIDATE].sample, r->samples);

	if (candidate < r->floor_ns) {
		result_fail(r, TIME_INVALID,
			    "%g ns is less than the device needs for the task's least traffic and arithmetic (%.0f ns)",
			    candidate, r->floor_ns);
		return;
	}
	for (int k = 0; k < LEGS; k++)
		if (s->ready[k])
			r->ns[k] = median(r->legs[k].sample, r->samples);
}

static int time_legs(struct site *s)
{
	struct leg *legs = s->r.legs;
	struct err e = { "" };
	int rounds, rc = 0;

	/* what a kernel may have kept in its module or in scratch ends here; a first launch happens outside of graphs,
	 * and then the sets get new poison, and set 0 data of its own again */
	s->filled = 0;
	for (int k = 0; k < LEGS && !rc; k++)
		if (s->ready[k])
			rc = replay_reload(&s->replay[k], &e) || replay_call(&s->replay[k], s->base[0], s->base[0], &e);
	rc = rc || instance_forget(&s->in, &e) || fill_sets(s, &e) || plan_rounds(s, legs, &rounds, &e);
	if (!rc) {
		s->r.samples = rounds * PLACEMENTS;
		s->r.sets = s->nsets;
		s->r.placement = xcalloc((size_t)s->r.samples, sizeof(*s->r.placement));
		for (int k = 0; k < LEGS; k++)
			if (s->ready[k])
				legs[k].sample = xcalloc((size_t)s->r.samples, sizeof(*legs[k].sample));
		rc = placements(s, legs, rounds, &e);
	}
	if (rc && gpu_fault(s->gpu))
		result_fail(&s->r, TIME_FAULT, "while timed: %s", e.text);
	else if (rc)
		tool_failed(s, e.text);
	if (s->r.status == TIME_CORRECT)
		conclude(s);
	if (s->r.status != TIME_CORRECT)
		s->r.samples = 0;
	spend(s, PHASE_TIME);
	return rc ? -1 : 0;
}

/* ---- one workload */

/* Which legs have a plan for it that fits. */
static int find_plans(struct site *s, struct plan *plan[LEGS])
{
	for (int k = 0; k < LEGS; k++) {
		plan[k] = s->have[k] ? bundle_plan(&s->bundle[k], s->w->id) : NULL;
		if (s->have[k] && !plan[k])
			err_set(&s->lacks[k], "its bundle has no plan for this workload");
		if (plan[k] && bundle_fits(plan[k], s->job->task, s->in.bytes, &s->lacks[k]))
			plan[k] = NULL;
	}
	if (!plan[LEG_CANDIDATE])
		result_fail(&s->r, TIME_TOOL_ERROR, "candidate: %s", s->lacks[LEG_CANDIDATE].text);
	return plan[LEG_CANDIDATE] ? 0 : -1;
}

static int allocate(struct site *s, struct plan *const plan[LEGS])
{
	size_t scratch = 0;
	struct err e = { "" };

	for (int k = 0; k < LEGS; k++)
		if (plan[k] && replay_scratch_bytes(plan[k]) > scratch)
			scratch = replay_scratch_bytes(plan[k]);
	layout_init(&s->l, &s->in, scratch);
	if (count_sets(s, &e) || gpu_alloc(s->gpu, s->l.size * (size_t)(s->nsets + 1), &s->arena, &e)) {
		tool_failed(s, e.text);
		return -1;
	}
	for (int i = 0; i < s->nsets; i++) {
		s->base[i] = s->arena + (uint64_t)i * s->l.size;
		s->order[i] = i;
	}
	s->pristine = s->arena + (uint64_t)s->nsets * s->l.size;
	s->walk = (struct walk){ .gpu = s->gpu, .base = s->base, .nsets = s->nsets, .order = s->order };
	s->in_place = false;
	for (int t = 0; t < s->in.task->ntensors; t++)
		s->in_place = s->in_place || s->in.task->tensors[t].role == ROLE_INOUT;
	spend(s, PHASE_MEMORY);
	return 0;
}

static int open_legs(struct site *s, struct plan *const plan[LEGS])
{
	for (int k = 0; k < LEGS; k++) {
		if (!plan[k])
			continue;
		s->ready[k] = !replay_open(&s->replay[k], s->gpu, &s->bundle[k], plan[k], &s->l, &s->lacks[k]);
		if (!s->ready[k] && k == LEG_CANDIDATE) {
			result_fail(&s->r, TIME_FAULT, "%s", s->lacks[k].text);
			return -1;
		}
	}
	spend(s, PHASE_LOAD);
	return 0;
}

/* Right on every seed, with the configuration that will be timed; then the task's own legs. */
static int check(struct site *s)
{
	struct err e = { "" };

	if (fill_sets(s, &e)) {
		tool_failed(s, e.text);
		return -1;
	}
	if (has_variants(&s->replay[LEG_CANDIDATE]) && (run_once(s, LEG_CANDIDATE, true) || choose(s, LEG_CANDIDATE)))
		return -1;
	for (int n = 0; n < s->job->nseeds; n++)
		if (check_seed(s, n))
			return -1;
	for (int k = LEG_BASELINE; k < LEGS; k++)
		if (s->ready[k] && (choose(s, k) || check_own(s, k)))
			return -1;
	spend(s, PHASE_CHECK);
	return 0;
}

static void note_missing(struct site *s)
{
	for (int k = LEG_BASELINE; k < LEGS; k++)
		if (!s->ready[k] && s->r.status == TIME_CORRECT)
			buf_addf(&s->r.message, "%s%s not timed: %s", s->r.message.len ? "; " : "", leg_name[k],
				 s->lacks[k].text);
}

static void close_workload(struct site *s)
{
	for (int k = 0; k < LEGS; k++) {
		if (s->replay[k].plan)
			replay_release(&s->replay[k]);
		s->ready[k] = false;
	}
	gpu_free(s->gpu, s->arena);
	s->arena = 0;
	s->filled = 0;
	layout_release(&s->l);
	instance_release(&s->in);
	result_release(&s->r);
}

static void say_result(struct site *s)
{
	struct buf b = BUF_INIT;

	result_emit(&b, &s->r, &s->in);
	say(s, 'R', b.data);
	buf_release(&b);
}

/* 0, or -1 when nothing more can be run in this process. */
static int run_workload(struct site *s)
{
	struct plan *plan[LEGS];
	struct err e = { "" };
	bool lost;

	say(s, 'B', s->w->id);
	result_init(&s->r, s->w->id);
	if (instance_open(&s->in, s->engine, s->job->task, s->w, &e)) {
		tool_failed(s, e.text);
	} else {
		s->r.least_bytes = s->in.least_bytes;
		s->r.least_flops = s->in.least_flops;
		s->r.floor_ns = peaks_floor_ns(s->info.name, s->in.least_bytes, s->in.least_flops,
					       s->in.task->flop_unit);
		if (!find_plans(s, plan) && !allocate(s, plan) && !open_legs(s, plan) && !check(s))
			time_legs(s);
	}
	note_missing(s);
	say_result(s);
	lost = gpu_fault(s->gpu) || s->r.status == TIME_TIMEOUT;
	if (!lost)
		close_workload(s);	/* else the process ends, and the driver cleans up */
	return lost ? -1 : 0;
}

static void say_phases(const struct site *s)
{
	struct buf b = BUF_INIT;

	emit_open(&b, '{');
	for (int p = 0; p < PHASES; p++)
		emit_knum(&b, phase_name[p], round(s->spent[p] * 1e4) / 1e4);
	emit_close(&b, '}');
	say(s, 'G', b.data);
	buf_release(&b);
}

static int start(struct site *s)
{
	struct buf source = BUF_INIT;
	struct err e = { "" };
	int rc = -1;

	s->gpu = gpu_open(s->job->device, &s->info, &e);
	if (!s->gpu) {
		say(s, 'A', e.text);
		return -1;
	}
	if (lock_device(s, &e)) {
		say(s, 'A', e.text);
		return -1;
	}
	say(s, 'L', "");
	s->mark = clock_now();
	say_device(s);
	if (gpu_start(s->gpu, &e)) {
		say(s, 'A', e.text);
		return -1;
	}
	spend(s, PHASE_START);
	if (load_bundles(s))
		return -1;
	spend(s, PHASE_LOAD);
	if (!oracle_source(s->job->task, &source, &e))
		s->engine = engine_gpu(s->gpu, &source, &e);
	if (s->engine)
		rc = 0;
	else
		say_failed(s, TIME_TOOL_ERROR, e.text);
	buf_release(&source);
	spend(s, PHASE_ORACLE);
	return rc;
}

int gpurun(const struct job *job, int fd)
{
	struct site *s = xcalloc(1, sizeof(*s));

	s->job = job;
	s->fd = fd;
	s->rng.state = job->seeds[job->nseeds - 1];
	if (start(s))
		return 0;
	for (int i = 0; i < job->nworkloads; i++) {
		s->w = job->workloads[i];
		if (run_workload(s))
			break;
	}
	say_phases(s);
	say(s, 'X', "");
	return 0;
}
