/* Graphs, blocks, rounds. */
#include "walk.h"
#include "clock.h"
#include <math.h>
#include <stdlib.h>

enum { MAX_NODES = 4096 };
#define BLOCK_NS 1e6		/* aim for a block */
#define WARM_SECONDS 0.12	/* at most, for the clock to settle */

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
		if (replay_call(r, w->set[in].base, w->set[out].base, e)) {
			gpu_record_drop(w->gpu);
			return NULL;
		}
	}
	return gpu_record_end(w->gpu, e);
}

/* n blocks between two events; their time can be read after a sync. */
static int blocks(const struct walk *w, void *graph, int n, void *from, void *to, struct err *e)
{
	int rc = gpu_event_record(w->gpu, from, e);

	for (int i = 0; i < n && !rc; i++)
		rc = gpu_graph_run(w->gpu, graph, e);
	return rc || gpu_event_record(w->gpu, to, e) ? -1 : 0;
}

/* ns of n blocks that run now. */
static int timed_blocks(const struct walk *w, void *graph, int n, double *ns, struct err *e)
{
	void *from = gpu_event(w->gpu, e), *to = from ? gpu_event(w->gpu, e) : NULL;
	int rc = !to || blocks(w, graph, n, from, to, e) || gpu_sync(w->gpu, e) ||
		 gpu_event_ns(w->gpu, from, to, ns, e);

	gpu_event_free(w->gpu, from);
	gpu_event_free(w->gpu, to);
	return rc ? -1 : 0;
}

int walk_block(const struct walk *w, void *graph, double *ns, struct err *e)
{
	return timed_blocks(w, graph, 1, ns, e);
}

int walk_look(const struct walk *w, void *graph, int calls, double *ns, struct err *e)
{
	if (gpu_graph_run(w->gpu, graph, e) || walk_block(w, graph, ns, e))
		return -1;
	*ns /= calls;
	return 0;
}

/* Windows of at least 5 ms; three in a row within 0.5 % of each other end it. */
int walk_warm(const struct walk *w, void *graph, int calls, struct err *e)
{
	double end = clock_now() + WARM_SECONDS, one, window[3] = { 0, 0, 0 };
	int repeat;

	if (walk_look(w, graph, calls, &one, e))
		return -1;
	repeat = one * calls < 5e6 ? (int)(5e6 / (one * calls)) + 1 : 1;
	for (int n = 0; clock_now() < end; n++) {
		double lo, hi;

		if (timed_blocks(w, graph, repeat, &window[n % 3], e))
			return -1;
		lo = fmin(fmin(window[0], window[1]), window[2]);
		hi = fmax(fmax(window[0], window[1]), window[2]);
		if (n >= 2 && hi < 1.005 * lo)
			break;
	}
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

		if (legs[k].graph && blocks(w, legs[k].graph, 1, event[k][0], event[k][1], e))
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
