/* The sets of buffers of one workload on a GPU, over which runs rotate, and those laid aside to be examined.
 *
 * Between two runs on a set at least four times as many bytes as L2 has are read or written: the other sets', or, where as
 * many as a graph can hold are too small for that, also those of memory beside them that is wiped with them.
 *
 * What a run could leave for a later one is wiped between blocks of runs: pool_spoil() gives everything in the sets but
 * their inputs, and all memory around them, new poison, puts back what is both input and output, and overwrites shared
 * memory. For the same reason nothing is laid aside while runs go on: the copies, the pristine set for the oracle, and
 * its references are made afterwards and given back before the next. */
#ifndef POOL_H
#define POOL_H
#include "gpu.h"
#include "rng.h"
#include "sets.h"

enum { POOL_MAX = 640, POOL_WITNESSES = 8, POOL_ROTATION = 4 };

struct pool {
	const struct layout *l;
	struct gpu *gpu;
	struct engine *engine;
	int n;				/* sets to rotate over */
	struct set set[POOL_MAX];
	uint64_t arena;			/* all sets, and behind them: */
	uint64_t backup;		/* inout tensors of each set as generated, if the task has any; */
	uint64_t table;			/* base and poison of each set, and a count, for kernels; */
	uint64_t rest;			/* unused to the end */
	size_t bytes, backup_bytes;	/* of the arena; of one set's backup */

	uint64_t aside;			/* 0: nothing is laid aside */
	struct set pristine, witness[POOL_WITNESSES];
	int witnesses;
	long long strays;		/* words changed around the sets when the witnesses were laid aside */
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

/* How many witnesses pool_keep() can be given. */
int pool_witnesses(const struct pool *p);
/* Copies these n sets as a block of runs left them, and looks at the memory around all sets. */
int pool_keep(struct pool *p, const int *which, int n, struct err *e);
/* References for a set's inputs, which are made anew in the pristine set. */
int pool_reference(struct pool *p, const struct set *s, struct err *e);
/* Gives back what is laid aside, and the references. */
void pool_forget(struct pool *p);
#endif
