/* Random order of turns, sets and checks: nothing that a result depends on. */
#ifndef RNG_H
#define RNG_H
#include <stdint.h>

struct rng {
	uint64_t state;		/* any seed */
};

uint64_t rng_next(struct rng *r);
/* In [0, n). */
int rng_below(struct rng *r, int n);
void rng_shuffle(struct rng *r, int *v, int n);
#endif
