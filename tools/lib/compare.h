/* An output held against the oracle: the figures, whether each condition of the task holds, and words about it.
 *
 * A non-finite element where the oracle is finite fails before any tolerance is looked at. rfe is the Frobenius norm of
 * the difference over that of the reference; maxn the largest difference over the reference's rms; a reference that is
 * zero everywhere admits only zeros. */
#ifndef COMPARE_H
#define COMPARE_H
#include "buf.h"
#include "oracle.h"

struct figure {
	enum metric metric;
	double value, limit;	/* ulp: share within one step, and the least share */
	long long steps, max_steps;	/* ulp: largest distance, and the largest allowed */
	bool ok;
};

struct output {
	const struct tensor *tensor;
	struct figure figure[TASK_CHECKS];
	int n;
	long long elements;
	long long wrong;	/* exact and ulp: elements outside; -1 where the metrics do not say */
	long long nonfinite;	/* not finite where the oracle is */
	long long worst_at;	/* flat index of the element shown, -1 for none */
	double expected, got;
	bool ok;
};

/* Compares tensor number i of the task, lying at `got`, with the instance's reference. */
int compare_output(struct instance *in, int i, uint64_t got, struct output *o, struct err *e);
/* {"name":..,"metrics":[..],"wrong":..,"nonfinite":..,"worst":..} */
void compare_emit(struct buf *out, const struct instance *in, const struct output *o);
/* "output q: rfe 0.31, at most 0.01 allowed; at [3,17] expected 1.25, got 0" */
void compare_words(struct buf *out, const struct instance *in, const struct output *o);
#endif
