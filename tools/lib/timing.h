/* Timing of plans by CUDA graphs that walk over rotating buffer sets.
 *
 * A block is one launch of a graph of `calls` calls; its time is taken by two events around it, so host launch cost
 * is outside and the gaps between graph nodes are inside. Call c of a graph reads set order[c mod sets] and writes
 * the set that lies c div sets further, so an output buffer never still holds the answer a call is about to write.
 * Legs use the same sets and take turns in a random order within each round. A placement is a new instantiation of
 * all graphs over a new order of the sets; where things lie is a bias that repeats within one. */
#ifndef TIMING_H
#define TIMING_H
#include "replay.h"
#include <stdbool.h>

enum { LEG_CANDIDATE, LEG_BASELINE, LEG_EXPERT, LEGS };
extern const char *const leg_name[LEGS];

struct walk {
	struct gpu *gpu;
	const uint64_t *base;	/* of each set */
	int nsets;
	int *order;
	int shift;		/* of the outputs against the inputs in the first pass */
};

struct leg {
	struct replay *replay;	/* NULL: this leg is not timed */
	void *graph;
	int calls;
	double estimate;	/* ns per call, from a first look */
	long long *sample;	/* ns per call, one a round */
};

struct rng {
	uint64_t state;
};
uint64_t rng_next(struct rng *r);
/* In [0, n). */
int rng_below(struct rng *r, int n);
void rng_shuffle(struct rng *r, int *v, int n);

/* Which sets call c reads and writes. */
void walk_sets(const struct walk *w, int c, int *in, int *out);
/* A graph of `calls` calls, or NULL. */
void *walk_graph(const struct walk *w, struct replay *r, int calls, struct err *e);
/* ns per call of a graph run now, after one run to warm it. */
int walk_look(const struct walk *w, void *graph, int calls, double *ns, struct err *e);
/* Runs the graph until its time no longer changes (clocks have risen), at most `seconds`. */
int walk_warm(const struct walk *w, void *graph, int calls, double seconds, struct err *e);

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
