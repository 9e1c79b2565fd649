/* Timing of a workload: candidate, baseline and expert in turns, over several placements. */
#include "site.h"
#include "stats.h"
#include <math.h>
#include <stdlib.h>

enum { PLACEMENTS = 4, ROUNDS_MIN = 8, ROUNDS_MAX = 48 };
#define TIMING_NS 4e8	/* aim for all blocks of one workload together */

/* What a kernel may have kept in its module or in scratch ends here. A first launch happens outside of graphs; then
 * the sets get new poison, and set 0 data of its own again. */
static int start_afresh(struct site *s, struct err *e)
{
	uint64_t base = s->set[0].base;

	for (int k = 0; k < LEGS; k++)
		if (s->ready[k] && (replay_reload(&s->replay[k], e) || replay_call(&s->replay[k], base, base, e)))
			return -1;
	s->filled = 0;
	return instance_forget(&s->in, e) || site_fill(s, e) ? -1 : 0;
}

/* A first look at a leg, which also raises the clocks; then how many calls make a block. */
static int plan_leg(struct site *s, int k, struct err *e)
{
	struct leg *leg = &s->r.legs[k];
	void *graph = walk_graph(&s->walk, &s->replay[k], s->nsets, e);
	int rc;

	if (!graph)
		return -1;
	rc = (k == LEG_CANDIDATE && walk_warm(&s->walk, graph, s->nsets, e)) ||
	     walk_look(&s->walk, graph, s->nsets, &leg->estimate, e);
	gpu_graph_free(s->rig->gpu, graph);
	if (!rc)
		leg->calls = walk_calls(&s->walk, &s->replay[k], leg->estimate, s->in_place);
	return rc ? -1 : 0;
}

/* How many rounds of all legs fit, for each placement. */
static int plan_rounds(struct site *s, int *per_placement, struct err *e)
{
	double round_ns = 0;
	int rounds;

	for (int k = 0; k < LEGS; k++) {
		if (!s->ready[k])
			continue;
		if (plan_leg(s, k, e))
			return -1;
		round_ns += s->r.legs[k].calls * s->r.legs[k].estimate;
	}
	rounds = (int)fmin(fmax(TIMING_NS / round_ns, ROUNDS_MIN), ROUNDS_MAX);
	*per_placement = (rounds + PLACEMENTS - 1) / PLACEMENTS;
	return 0;
}

static void make_room(struct site *s, int per_placement)
{
	struct result *r = &s->r;

	r->samples = per_placement * PLACEMENTS;
	r->sets = s->nsets;
	r->placement = xcalloc((size_t)r->samples, sizeof(*r->placement));
	for (int i = 0; i < r->samples; i++)
		r->placement[i] = i / per_placement;
	for (int k = 0; k < LEGS; k++)
		if (s->ready[k])
			r->legs[k].sample = xcalloc((size_t)r->samples, sizeof(*r->legs[k].sample));
}

/* Graphs of all legs for one placement, each run once so that its first use is behind it. */
static int make_graphs(struct site *s, struct err *e)
{
	struct leg *legs = s->r.legs;

	for (int k = 0; k < LEGS; k++) {
		if (!s->ready[k])
			continue;
		legs[k].graph = walk_graph(&s->walk, &s->replay[k], legs[k].calls, e);
		if (!legs[k].graph || gpu_graph_run(s->rig->gpu, legs[k].graph, e))
			return -1;
	}
	return gpu_sync(s->rig->gpu, e);
}

static void free_graphs(struct site *s)
{
	for (int k = 0; k < LEGS; k++) {
		gpu_graph_free(s->rig->gpu, s->r.legs[k].graph);
		s->r.legs[k].graph = NULL;
	}
}

/* The set that the last call of the candidate's graph to write set o has read. */
static int last_read(const struct site *s, int o)
{
	int in, out, i = o;

	for (int c = 0; c < s->r.legs[LEG_CANDIDATE].calls; c++) {
		walk_sets(&s->walk, c, &in, &out);
		if (out == o)
			i = in;
	}
	return i;
}

/* The candidate's graph once more, on a set whose outputs and scratch have just been poisoned, and an examination of
 * what it leaves there. In place: the set's inputs are made anew, and the graph uses each set once. */
static int check_timed(struct site *s, struct err *e)
{
	struct gpu *g = s->rig->gpu;
	int o = rng_below(&s->rig->rng, s->nsets), i = last_read(s, o), rc;
	struct buf words = BUF_INIT;

	if (set_spoil(&s->l, &s->set[o], e) || (s->in_place && set_generate(&s->l, &s->set[i], e)) ||
	    gpu_graph_run(g, s->r.legs[LEG_CANDIDATE].graph, e) || gpu_sync(g, e) || site_reference(s, i, e))
		return -1;
	rc = site_exam(s, LEG_CANDIDATE, i, o, &words, e);
	if (rc > 0) {
		result_fail(&s->r, TIME_WRONG, "right when checked, wrong when timed: %s", words.data);
		s->r.has_seed = true;
		s->r.seed = s->set[i].seed;
	} else if (!rc) {
		rc = instance_forget(&s->in, e);
	}
	buf_release(&words);
	return rc < 0 ? -1 : 0;
}

/* One placement's rounds, and where it falls on this one, the check of a timed run. */
static int place(struct site *s, int p, int rounds, bool checked, struct err *e)
{
	int rc;

	s->walk.shift = p;
	rng_shuffle(&s->rig->rng, s->order, s->nsets);
	rc = gpu_l2_reset(s->rig->gpu, e) || make_graphs(s, e) ||
	     walk_rounds(&s->walk, s->r.legs, p * rounds, rounds, &s->rig->rng, e) ||
	     (checked && check_timed(s, e));
	free_graphs(s);
	return rc ? -1 : 0;
}

static int run_placements(struct site *s, struct err *e)
{
	int rounds, checked;

	if (plan_rounds(s, &rounds, e))
		return -1;
	make_room(s, rounds);
	checked = rng_below(&s->rig->rng, PLACEMENTS);
	for (int p = 0; p < PLACEMENTS && s->r.status == TIME_CORRECT; p++)
		if (place(s, p, rounds, p == checked, e))
			return -1;
	return 0;
}

static double median(const long long *x, int n)
{
	double *d = xcalloc((size_t)n, sizeof(*d)), m;

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

int site_time(struct site *s)
{
	struct err e = { "" };
	int rc = start_afresh(s, &e) || run_placements(s, &e);

	if (rc && gpu_fault(s->rig->gpu))
		result_fail(&s->r, TIME_FAULT, "while timed: %s", e.text);
	else if (rc)
		site_tool_failed(s, e.text);
	if (s->r.status == TIME_CORRECT)
		conclude(s);
	if (s->r.status != TIME_CORRECT)
		s->r.samples = 0;
	phases_charge(&s->rig->phases, PHASE_TIME);
	return rc ? -1 : 0;
}
