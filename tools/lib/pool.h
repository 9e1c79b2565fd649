/* The sets of buffers of one workload on a GPU: those that runs rotate over, a pristine one for the oracle, and a
 * witness, into which a run's set is copied to be examined later.
 *
 * What a run could leave for a later one is wiped between blocks of runs: pool_spoil() gives outputs, scratch and guard
 * bands new poison, puts back what is both input and output, and overwrites shared memory. */
#ifndef POOL_H
#define POOL_H
#include "gpu.h"
#include "rng.h"
#include "sets.h"

enum { POOL_MAX = 640 };

struct pool {
	const struct layout *l;
	struct gpu *gpu;
	struct engine *engine;
	int n;				/* sets to rotate over */
	struct set set[POOL_MAX], pristine, witness;
	uint64_t arena, wedge;		/* all sets; a piece that shifts where the arena lies */
	uint64_t table;			/* base and poison of each set, for the kernel */
	uint64_t backup;		/* inout tensors of each set as generated; 0: the task has none */
	size_t backup_bytes;		/* per set */
};

/* No memory yet. The layout must stay where it is. */
void pool_init(struct pool *p, const struct layout *l, struct gpu *g);
/* How many sets fit into so many bytes, POOL_MAX at most. */
int pool_fits(const struct pool *p, double bytes);
/* Memory at new places, drawn at random, for n sets; what they held is gone. 0 or -1. */
int pool_place(struct pool *p, int n, struct rng *rng, struct err *e);
void pool_release(struct pool *p);
/* Inputs of a seed for set i. */
int pool_generate(struct pool *p, int i, uint64_t seed, struct err *e);
/* See above. Nothing but inputs survives it in any set. */
int pool_spoil(struct pool *p, struct rng *rng, struct err *e);
/* Copies set i as it is into the witness. */
int pool_keep(struct pool *p, int i, struct err *e);
/* References for a set's inputs, which are made anew in the pristine set. */
int pool_reference(struct pool *p, const struct set *s, struct err *e);
#endif
