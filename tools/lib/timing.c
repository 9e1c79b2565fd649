/* Graphs, blocks, rounds. */
#include "timing.h"
#include "clock.h"
#include "emit.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const leg_name[LEGS] = { "candidate", "baseline", "expert" };

enum { MAX_NODES = 4096 };
#define BLOCK_NS 1e6	/* aim for a block */
#define WARM_SECONDS 0.3	/* at most, for the clock to settle */

/* splitmix64: order of turns and sets only, nothing that a result depends on */
uint64_t rng_next(struct rng *r)
{
	uint64_t z = r->state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

int rng_below(struct rng *r, int n)
{
	return (int)((rng_next(r) >> 32) * (uint64_t)n >> 32);
}

void rng_shuffle(struct rng *r, int *v, int n)
{
	for (int i = n - 1; i > 0; i--) {
		int k = rng_below(r, i + 1), t = v[i];

		v[i] = v[k];
		v[k] = t;
	}
}

void walk_sets(const struct walk *w, int c, int *in, int *out)
{
	int pass = c / w->nsets + w->shift;

	*in = w->order[c % w->nsets];
	*out = w->order[(c + pass) % w->nsets];
}

void *walk_graph(const struct walk *w, struct replay *r, int calls, struct err *e)
{
	int in, out;

	if (gpu_record_begin(w->gpu, e))
		return NULL;
	for (int c = 0; c < calls; c++) {
		walk_sets(w, c, &in, &out);
		if (replay_call(r, w->base[in], w->base[out], e)) {
			gpu_record_drop(w->gpu);
			return NULL;
		}
	}
	return gpu_record_end(w->gpu, e);
}

/* A block between two events; its time can be read after a sync. */
static int block(const struct walk *w, void *graph, void *from, void *to, struct err *e)
{
	return gpu_event_record(w->gpu, from, e) || gpu_graph_run(w->gpu, graph, e) || gpu_event_record(w->gpu, to, e)
		? -1 : 0;
}

/* ns of one block that runs now. */
static int timed_block(const struct walk *w, void *graph, double *ns, struct err *e)
{
	void *from = gpu_event(w->gpu, e), *to = from ? gpu_event(w->gpu, e) : NULL;
	int rc = !to || block(w, graph, from, to, e) || gpu_sync(w->gpu, e) || gpu_event_ns(w->gpu, from, to, ns, e);

	gpu_event_free(w->gpu, from);
	gpu_event_free(w->gpu, to);
	return rc ? -1 : 0;
}

int walk_look(const struct walk *w, void *graph, int calls, double *ns, struct err *e)
{
	if (gpu_graph_run(w->gpu, graph, e) || timed_block(w, graph, ns, e))
		return -1;
	*ns /= calls;
	return 0;
}

/* Windows of at least 5 ms; three in a row within 0.5 % of each other end it. */
int walk_warm(const struct walk *w, void *graph, int calls, double seconds, struct err *e)
{
	double end = clock_now() + seconds, one, window[3] = { 0, 0, 0 };
	int repeat;

	if (walk_look(w, graph, calls, &one, e))
		return -1;
	repeat = one * calls < 5e6 ? (int)(5e6 / (one * calls)) + 1 : 1;
	for (int n = 0; clock_now() < end; n++) {
		void *from = gpu_event(w->gpu, e), *to = gpu_event(w->gpu, e);
		double lo, hi;
		int rc = !from || !to || gpu_event_record(w->gpu, from, e);

		for (int i = 0; i < repeat && !rc; i++)
			rc = gpu_graph_run(w->gpu, graph, e);
		rc = rc || gpu_event_record(w->gpu, to, e) || gpu_sync(w->gpu, e) ||
		     gpu_event_ns(w->gpu, from, to, &window[n % 3], e);
		gpu_event_free(w->gpu, from);
		gpu_event_free(w->gpu, to);
		if (rc)
			return -1;
		lo = fmin(fmin(window[0], window[1]), window[2]);
		hi = fmax(fmax(window[0], window[1]), window[2]);
		if (n >= 2 && hi < 1.005 * lo)
			break;
	}
	return 0;
}

/* The fastest of three blocks of one pass over the sets; NaN when the variant cannot be launched. */
static int try_variant(const struct walk *w, struct replay *r, double best, double *ns, struct err *e)
{
	struct err why;
	void *graph;
	int rc = 0;

	*ns = NAN;
	/* outside a graph first: a launch that is refused must not cost the recording */
	if (replay_call(r, w->base[0], w->base[0], &why))
		return gpu_fault(w->gpu) ? err_set(e, "%s", why.text) : 0;
	if (gpu_sync(w->gpu, e) || !(graph = walk_graph(w, r, w->nsets, e)))
		return -1;
	rc = gpu_graph_run(w->gpu, graph, e);
	for (int i = 0; i < 3 && !rc; i++) {
		double t;

		rc = timed_block(w, graph, &t, e);
		if (!rc && !(t / w->nsets >= *ns))
			*ns = t / w->nsets;
		if (*ns > 1.5 * best)
			break;
	}
	gpu_graph_free(w->gpu, graph);
	return rc;
}

/* Steps with the same kernels, grids and configurations: Triton's autotuner would choose once for all of them. */
static bool steps_alike(const struct step *a, const struct step *b)
{
	if (a->nvariants != b->nvariants)
		return false;
	for (int v = 0; v < a->nvariants; v++)
		if (a->variants[v].kernel != b->variants[v].kernel || memcmp(a->variants[v].grid, b->variants[v].grid,
									    sizeof(a->variants[v].grid)))
			return false;
	return true;
}

static int first_alike(const struct plan *p, int s)
{
	for (int i = 0; i < s; i++)
		if (steps_alike(&p->steps[i], &p->steps[s]))
			return i;
	return s;
}

static void choose_alike(struct replay *r, int s, int v)
{
	for (int i = s; i < r->plan->nsteps; i++)
		if (steps_alike(&r->plan->steps[i], &r->plan->steps[s]))
			r->chosen[i] = v;
}

static void emit_steps(struct buf *out, const struct plan *p, int s)
{
	emit_key(out, "steps");
	emit_open(out, '[');
	for (int i = s; i < p->nsteps; i++)
		if (steps_alike(&p->steps[i], &p->steps[s]))
			emit_int(out, i);
	emit_close(out, ']');
}

/* Measures every variant of step s and of the steps like it, and leaves the fastest chosen. */
static int choose_step(const struct walk *w, struct replay *r, int s, struct buf *out, struct err *e)
{
	const struct step *step = &r->plan->steps[s];
	double best = INFINITY, ns;
	int chosen = -1;

	emit_open(out, '{');
	emit_steps(out, r->plan, s);
	emit_key(out, "ns");
	emit_open(out, '[');
	for (int v = 0; v < step->nvariants; v++) {
		choose_alike(r, s, v);
		if (try_variant(w, r, best, &ns, e))
			return -1;
		emit_num(out, isnan(ns) ? ns : rint(ns));
		if (ns < best) {
			best = ns;
			chosen = v;
		}
	}
	emit_close(out, ']');
	if (chosen < 0)
		return err_set(e, "no configuration of %s can be launched", replay_step_name(r, s));
	choose_alike(r, s, chosen);
	emit_kint(out, "chosen", chosen);
	emit_kstr(out, "config", step->variants[chosen].config);
	emit_close(out, '}');
	return 0;
}

/* Runs the plan as it is until the clock has settled, else the first variants would be measured on a cooler device. */
static int warm_up(const struct walk *w, struct replay *r, struct err *e)
{
	struct err why;
	void *graph;
	int rc;

	if (replay_call(r, w->base[0], w->base[0], &why))
		return gpu_fault(w->gpu) ? err_set(e, "%s", why.text) : 0;	/* another variant may do */
	if (gpu_sync(w->gpu, e) || !(graph = walk_graph(w, r, w->nsets, e)))
		return -1;
	rc = walk_warm(w, graph, w->nsets, WARM_SECONDS, e);
	gpu_graph_free(w->gpu, graph);
	return rc;
}

int walk_choose(const struct walk *w, struct replay *r, struct buf *out, struct err *e)
{
	if (warm_up(w, r, e))
		return -1;
	for (int s = 0; s < r->plan->nsteps; s++)
		if (r->plan->steps[s].nvariants > 1 && first_alike(r->plan, s) == s && choose_step(w, r, s, out, e))
			return -1;
	return 0;
}

int walk_calls(const struct walk *w, const struct replay *r, double ns, bool one_pass)
{
	double pass = ns * w->nsets;
	int passes = (int)ceil(BLOCK_NS / pass), most = MAX_NODES / (w->nsets * r->plan->nsteps);

	if (one_pass)
		return w->nsets;
	if (passes > most)
		passes = most;
	if (passes < 2)
		passes = pass > 50 * BLOCK_NS ? 1 : 2;	/* one pass: outputs meet the same answer again */
	return passes * w->nsets;
}

/* One round: every leg once, in a random order. */
static int round_of(const struct walk *w, struct leg legs[LEGS], void *event[LEGS][2], struct rng *rng, struct err *e)
{
	int order[LEGS] = { 0, 1, 2 };

	rng_shuffle(rng, order, LEGS);
	for (int i = 0; i < LEGS; i++) {
		int k = order[i];

		if (legs[k].graph && block(w, legs[k].graph, event[k][0], event[k][1], e))
			return -1;
	}
	return 0;
}

int walk_rounds(const struct walk *w, struct leg legs[LEGS], int first, int rounds, struct rng *rng, struct err *e)
{
	void *(*event)[LEGS][2] = xcalloc((size_t)rounds, sizeof(*event));
	int rc = 0;

	for (int i = 0; i < rounds * LEGS * 2 && !rc; i++)
		rc = (event[i / (LEGS * 2)][i / 2 % LEGS][i % 2] = gpu_event(w->gpu, e)) ? 0 : -1;
	for (int i = 0; i < rounds && !rc; i++)
		rc = round_of(w, legs, event[i], rng, e);
	if (!rc)
		rc = gpu_sync(w->gpu, e);
	for (int i = 0; i < rounds && !rc; i++)
		for (int k = 0; k < LEGS && !rc; k++) {
			double ns;

			if (!legs[k].graph)
				continue;
			rc = gpu_event_ns(w->gpu, event[i][k][0], event[i][k][1], &ns, e);
			if (!rc)
				legs[k].sample[first + i] = llrint(ns / legs[k].calls);
		}
	for (int i = 0; i < rounds * LEGS * 2; i++)
		gpu_event_free(w->gpu, event[i / (LEGS * 2)][i / 2 % LEGS][i % 2]);
	free(event);
	return rc;
}
