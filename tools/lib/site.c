/* A workload's memory and plans, and the examination of runs on it. */
#include "site.h"
#include "exam.h"
#include "peaks.h"
#include <math.h>

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

/* As many sets as exceed L2 four times, and as fit. */
static int count_sets(struct site *s, struct err *e)
{
	double tensors = 0, call, want;
	size_t available;
	int most;

	for (int i = 0; i < s->in.task->ntensors; i++)
		tensors += (double)s->in.bytes[i];
	/* what a call touches may be less than what it is given (pages of a cache): the task's formula says */
	call = s->in.least_bytes > 0 && s->in.least_bytes < tensors ? s->in.least_bytes : tensors;
	want = ceil(4.0 * (double)s->rig->info.l2_bytes / fmax(call, 1));
	s->nsets = want < SETS_MIN ? SETS_MIN : want > SETS_MAX ? SETS_MAX : (int)want;
	if (gpu_memory_free(s->rig->gpu, &available, e))
		return -1;
	most = (int)fmin(0.92 * (double)available / (double)s->l.size - 1, SETS_MAX);
	if (s->nsets > most)
		s->nsets = most;
	return s->nsets >= 1 ? 0 : err_set(e, "a set of %zu bytes does not fit the device", s->l.size);
}

static int allocate(struct site *s, struct plan *const plan[LEGS])
{
	struct gpu *g = s->rig->gpu;
	size_t scratch = 0;
	struct err e = { "" };

	for (int k = 0; k < LEGS; k++)
		if (plan[k] && replay_scratch_bytes(plan[k]) > scratch)
			scratch = replay_scratch_bytes(plan[k]);
	layout_init(&s->l, &s->in, scratch);
	if (count_sets(s, &e) || gpu_alloc(g, s->l.size * (size_t)(s->nsets + 1), &s->arena, &e)) {
		site_tool_failed(s, e.text);
		return -1;
	}
	for (int i = 0; i < s->nsets; i++) {
		s->set[i].base = s->arena + (uint64_t)i * s->l.size;
		s->order[i] = i;
	}
	s->pristine.base = s->arena + (uint64_t)s->nsets * s->l.size;
	s->walk = (struct walk){ .gpu = g, .set = s->set, .nsets = s->nsets, .order = s->order };
	phases_charge(&s->rig->phases, PHASE_MEMORY);
	return 0;
}

static int open_legs(struct site *s, struct plan *const plan[LEGS])
{
	struct rig *rig = s->rig;

	for (int k = 0; k < LEGS; k++) {
		if (!plan[k])
			continue;
		s->ready[k] = !replay_open(&s->replay[k], rig->gpu, &rig->bundle[k], plan[k], &s->l, &s->lacks[k]);
		if (!s->ready[k] && k == LEG_CANDIDATE) {
			result_fail(&s->r, TIME_FAULT, "%s", s->lacks[k].text);
			return -1;
		}
	}
	phases_charge(&rig->phases, PHASE_LOAD);
	return 0;
}

int site_open(struct site *s, struct rig *rig, const struct workload *w)
{
	const struct task *t = rig->job->task;
	struct plan *plan[LEGS];
	struct err e = { "" };

	*s = (struct site){ .rig = rig };
	result_init(&s->r, w->id);
	if (instance_open(&s->in, rig->engine, t, w, &e)) {
		site_tool_failed(s, e.text);
		return -1;
	}
	s->r.least_bytes = s->in.least_bytes;
	s->r.least_flops = s->in.least_flops;
	s->r.floor_ns = peaks_floor_ns(rig->info.name, s->in.least_bytes, s->in.least_flops, t->flop_unit);
	for (int i = 0; i < t->ntensors; i++)
		s->in_place = s->in_place || t->tensors[i].role == ROLE_INOUT;
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
	gpu_free(s->rig->gpu, s->arena);
	layout_release(&s->l);
	instance_release(&s->in);
	result_release(&s->r);
}

/* ---- data */

int site_fill(struct site *s, struct err *e)
{
	const struct job *job = s->rig->job;
	uint64_t fresh = job->seeds[job->nseeds - 1];

	for (; s->filled < s->nsets; s->filled++)
		if (set_make(&s->l, &s->set[s->filled], fresh + 1 + (uint64_t)s->filled, rng_next(&s->rig->rng), false,
			     e))
			return -1;
	return gpu_sync(s->rig->gpu, e);
}

int site_reference(struct site *s, int i, struct err *e)
{
	return set_make(&s->l, &s->pristine, s->set[i].seed, s->set[i].poison, false, e) ||
	       set_reference(&s->l, &s->pristine, e) || gpu_sync(s->rig->gpu, e) ? -1 : 0;
}

int site_exam(struct site *s, int leg, int i, int o, struct buf *words, struct err *e)
{
	const struct exam x = { .l = &s->l, .read = &s->set[i], .written = &s->set[o], .pristine = &s->pristine,
				.scratch = &s->replay[leg].scratch, .keep = leg == LEG_CANDIDATE ? &s->r : NULL };

	return exam_run(&x, words, e);
}
