/* Plans run by CUDA graphs that walk over rotating buffer sets, and timed.
 *
 * A block is one launch of a graph of `calls` calls; its time is taken by two events around it, so host launch cost
 * is outside and the gaps between graph nodes are inside. Call c of a graph reads set order[c mod sets] and writes
 * the set that lies c div sets further, so an output buffer never still holds the answer a call is about to write.
 * Legs use the same sets and take turns in a random order within each round. A placement is a new instantiation of
 * all graphs over a new order of the sets; where things lie is a bias that repeats within one. */
#ifndef WALK_H
#define WALK_H
#include "job.h"
#include "replay.h"
#include "rng.h"
#include <stdbool.h>

struct walk {
	struct gpu *gpu;
	const struct set *set;
	int nsets;
	int *order;
	int shift;		/* of the outputs against the inputs in the first pass */
};

struct leg {
	void *graph;		/* NULL: this leg is not timed */
	int calls;
	double estimate;	/* ns per call, from a first look */
	long long *sample;	/* ns per call, one a round */
};

/* Which sets call c reads and writes. */
void walk_sets(const struct walk *w, int c, int *in, int *out);
/* A graph of `calls` calls, or NULL. */
void *walk_graph(const struct walk *w, struct replay *r, int calls, struct err *e);
/* ns of a block that runs now. */
int walk_block(const struct walk *w, void *graph, double *ns, struct err *e);
/* ns per call of a graph run now, after one run to warm it. */
int walk_look(const struct walk *w, void *graph, int calls, double *ns, struct err *e);
/* Runs the graph until its time no longer changes (clocks have risen), or a fraction of a second is over. */
int walk_warm(const struct walk *w, void *graph, int calls, struct err *e);

/* Picks the fastest variant of each step that has several. Steps that offer the same kernels on the same grids are
 * measured and chosen together, as one key of Triton's autotuner would be. Appends {"steps":[..],"ns":[..],"chosen":..,
 * "config":..} per choice to out, ns being the whole plan's; a variant that cannot be launched has null. */
int walk_choose(const struct walk *w, struct replay *r, struct buf *out, struct err *e);

/* Calls per graph for the leg: enough for about a millisecond, whole passes over the sets. one_pass: in-place
 * tensors. */
int walk_calls(const struct walk *w, const struct replay *r, double ns, bool one_pass);
/* Runs `rounds` rounds of all legs and stores sample[first...]. */
int walk_rounds(const struct walk *w, struct leg legs[LEGS], int first, int rounds, struct rng *rng, struct err *e);
#endif
