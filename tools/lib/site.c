/* A workload's memory and plans, and the examination of runs on it. */
#include "site.h"
#include "exam.h"
#include "progress.h"
#include "peaks.h"
#include <math.h>

#define SHORTEST_NS 1500	/* of any launch */
#define LONG_CALL_NS 1e6	/* to a call this long, what L2 holds before it is next to nothing: no lead-in */
enum { SETS_MIN = 2, NODES_MAX = 4096 };

void site_tool_failed(struct site *s, const char *why)
{
	result_fail(&s->r, TIME_TOOL_ERROR, "%s%s",
		    gpu_out_of_memory(s->rig->gpu) ? "the workload does not fit the device: " : "", why);
}

/* ---- opening */

/* Which legs have a plan for it that fits. */
static int find_plans(struct site *s, const struct workload *w, struct plan *plan[LEGS])
{
	for (int k = 0; k < LEGS; k++) {
		struct err *lacks = &s->lacks[k];

		*lacks = s->rig->lacks[k];
		plan[k] = *lacks->text ? NULL : bundle_plan(&s->rig->bundle[k], w->id);
		if (!*lacks->text && !plan[k])
			err_set(lacks, "its bundle has no plan for this workload");
		if (plan[k] && bundle_fits(plan[k], s->in.task, s->in.bytes, lacks))
			plan[k] = NULL;
	}
	if (!plan[LEG_CANDIDATE])
		result_fail(&s->r, TIME_TOOL_ERROR, "candidate: %s", s->lacks[LEG_CANDIDATE].text);
	return plan[LEG_CANDIDATE] ? 0 : -1;
}

/* Bytes one call touches, at least: of what it is given it may need but a part (pages of a cache), says the task. */
static double touched(const struct site *s)
{
	double tensors = 0;

	for (int i = 0; i < s->in.task->ntensors; i++)
		tensors += (double)s->in.bytes[i];
	return fmax(s->in.least_bytes > 0 ? fmin(s->in.least_bytes, tensors) : tensors, 1);
}

/* Lays out sets that serve the legs from `first` on; how many of them fit. */
static int lay_out(struct site *s, struct plan *const plan[LEGS], int first, double available)
{
	size_t scratch = 0;

	for (int k = first; k < LEGS; k++) {
		size_t bytes = plan[k] ? replay_scratch_bytes(&s->rig->bundle[k], plan[k]) : 0;

		if (bytes > scratch)
			scratch = bytes;
	}
	layout_release(&s->l);
	layout_init(&s->l, &s->in, scratch);
	pool_init(&s->pool, &s->l, s->rig->gpu);
	return pool_fits(&s->pool, available);
}

/* As many as a graph of the longest plan can hold without growing out of hand. */
static int most_calls(struct plan *const plan[LEGS])
{
	int steps = 1;

	for (int k = 0; k < LEGS; k++)
		if (plan[k] && plan[k]->nsteps > steps)
			steps = plan[k]->nsteps;
	return NODES_MAX / steps;
}

/* How many sets and calls: enough to exceed L2 four times and for a block to last even if no call took longer than the
 * floor, as far as they fit the device and a graph. A candidate whose scratch leaves too few to exceed L2, where there
 * would be enough, cannot be timed fairly. 0, or -1: in e, or the result says why. */
static int count_sets(struct site *s, struct plan *const plan[LEGS], struct err *e)
{
	double call = touched(s), l2 = (double)s->rig->info.l2_bytes, least_ns = fmax(s->r.floor_ns, SHORTEST_NS);
	int lead = s->r.floor_ns > LONG_CALL_NS ? 0 : (int)fmin(ceil(l2 / call), POOL_MAX / 4), own, most;
	int rotate = (int)fmin(fmax(ceil(POOL_ROTATION * l2 / call), SETS_MIN), POOL_MAX - lead);
	double want = fmax(rotate, ceil(SITE_BLOCK_NS / least_ns)), room;
	size_t available;

	if (gpu_memory_free(s->rig->gpu, &available, e))
		return -1;
	room = 0.92 * (double)available - instance_memory(&s->in);
	own = lay_out(s, plan, LEG_BASELINE, room);
	most = lay_out(s, plan, 0, room);
	if (own < SETS_MIN)
		return err_set(e, "%d sets of %zu bytes do not fit the device", SETS_MIN, s->l.size);
	if (most < own && most < lead + rotate) {
		result_fail(&s->r, TIME_FAULT, "its scratch leaves room for %d sets of buffers, too few to be timed", most);
		return -1;
	}
	most = most < most_calls(plan) ? most : most_calls(plan);
	if (most < SETS_MIN)
		most = SETS_MIN;
	if (lead > most / 2)
		lead = most / 2;
	s->walk.lead = lead;
	s->walk.calls = (int)fmin(want, most - lead);
	s->calls_min = rotate < s->walk.calls ? rotate : s->walk.calls;
	s->nsets = s->walk.lead + s->walk.calls;
	return 0;
}

static int allocate(struct site *s, struct plan *const plan[LEGS])
{
	struct err e = { "" };

	if (count_sets(s, plan, &e) || pool_place(&s->pool, s->nsets, &s->rig->rng, &e)) {
		site_tool_failed(s, e.text);	/* unless it is known better */
		return -1;
	}
	for (int i = 0; i < s->nsets; i++)
		s->order[i] = i;
	s->walk.gpu = s->rig->gpu;
	s->walk.set = s->pool.set;
	s->walk.order = s->order;
	phases_charge(&s->rig->phases, PHASE_MEMORY);
	return 0;
}

static int open_legs(struct site *s, struct plan *const plan[LEGS])
{
	struct rig *rig = s->rig;

	for (int k = 0; k < LEGS; k++) {
		if (!plan[k])
			continue;
		gpu_forget(rig->gpu);
		site_actor(s, k);
		s->ready[k] = !replay_open(&s->replay[k], rig->gpu, &rig->bundle[k], plan[k], &s->l, &s->lacks[k]);
		site_actor(s, ACTOR_TOOL);
		if (s->ready[k] || (k != LEG_CANDIDATE && gpu_blames_code(rig->gpu)))
			continue;
		if (gpu_blames_code(rig->gpu))
			result_fail(&s->r, TIME_FAULT, "%s", s->lacks[k].text);
		else
			site_tool_failed(s, s->lacks[k].text);
		return -1;
	}
	phases_charge(&rig->phases, PHASE_LOAD);
	return 0;
}

int site_open(struct site *s, struct rig *rig, const struct workload *w)
{
	const struct task *t = rig->job->task;
	struct plan *plan[LEGS];
	struct err e = { "" };

	*s = (struct site){ .rig = rig, .data_seed = job_fresh_seed(rig->job),
			    .walk.hang = rig->job->hang };
	result_init(&s->r, w->id);
	site_actor(s, ACTOR_TOOL);
	if (instance_open(&s->in, rig->engine, t, w, &e)) {
		site_tool_failed(s, e.text);
		return -1;
	}
	s->r.least_bytes = s->in.least_bytes;
	s->r.least_flops = s->in.least_flops;
	s->r.floor_ns = peaks_floor_ns(&rig->peaks, s->in.least_bytes, s->in.least_flops, t->flop_unit);
	return find_plans(s, w, plan) || allocate(s, plan) || open_legs(s, plan) ? -1 : 0;
}

bool site_lost(const struct site *s)
{
	return gpu_fault(s->rig->gpu) || s->hangs;
}

void site_close(struct site *s)
{
	for (int k = 0; k < LEGS; k++)
		if (s->replay[k].plan)
			replay_release(&s->replay[k]);
	for (int k = 0; k < LEGS; k++)
		walk_release(&s->walk, &s->lap[k]);
	pool_release(&s->pool);
	layout_release(&s->l);
	instance_release(&s->in);
	result_release(&s->r);
}

/* ---- data */

int site_fill(struct site *s, struct err *e)
{
	site_actor(s, ACTOR_ORACLE);
	for (int i = 0; i < s->nsets; i++)
		if (pool_generate(&s->pool, i, ++s->data_seed, e))
			return -1;
	if (gpu_sync(s->rig->gpu, e))
		return -1;
	site_actor(s, ACTOR_TOOL);
	phases_charge(&s->rig->phases, PHASE_DATA);
	return 0;
}

/* ---- runs */

void site_actor(struct site *s, int actor)
{
	s->actor = actor;
	progress_say(s->rig->fd, PROGRESS_ACTOR, actor_name(actor));
}

int site_exam(struct site *s, int leg, const struct set *set, bool made, struct buf *words, struct err *e)
{
	const struct exam x = { .l = &s->l, .set = set, .pristine = &s->pool.pristine,
				.scratch = &s->replay[leg].scratch, .keep = leg == LEG_CANDIDATE ? &s->r : NULL };
	int rc;

	site_actor(s, ACTOR_ORACLE);
	rc = !made && pool_reference(&s->pool, set, e) ? -1 : exam_run(&x, words, e);
	site_actor(s, ACTOR_TOOL);
	return rc;
}

void site_failed(struct site *s, int leg, const char *why)
{
	const struct replay *r = &s->replay[leg];
	const char *kernel = replay_step_name(r, r->step);

	if (leg == LEG_CANDIDATE)
		result_fail(&s->r, gpu_blames_code(s->rig->gpu) ? TIME_FAULT : TIME_TOOL_ERROR,
			    "kernel %s (step %d of %d): %s", kernel, r->step + 1, r->plan->nsteps, why);
	else
		result_fail(&s->r, TIME_TOOL_ERROR, "the task's own %s, kernel %s: %s", leg_name[leg], kernel, why);
}

void site_hangs(struct site *s, int leg, const char *what)
{
	s->hangs = true;
	if (leg == LEG_CANDIDATE)
		result_fail(&s->r, TIME_TIMEOUT, "%s had not ended after %g s", what, s->rig->job->hang);
	else
		result_fail(&s->r, TIME_TOOL_ERROR, "the task's own %s hangs", leg_name[leg]);
}
