/* An output held against the oracle: the figures, whether each condition of the task holds, and words about it.
 *
 * A non-finite element where the oracle is finite fails before any tolerance is looked at. rfe is the Frobenius norm of
 * the difference over that of the reference; rows the same for each row (along the last dimension) by itself, the largest
 * of all; maxn the largest difference over the reference's rms; a reference that is zero everywhere admits only zeros.
 *
 * Of an output that fails, the wrong elements are counted and their pattern is told (pattern.h). Wrong is what breaks
 * the first condition that fails: under exact what differs; under ulp what is more than one step off, if the share is
 * what fails, else what is more than `max` steps off, else what is not equal; under maxn what is off by more than the
 * limit; under rfe and rows, which are no conditions on single elements, what is off by more than twice the limit times
 * the reference's rms, under rows that of the worst row. And always what is not finite where the oracle is. */
#ifndef COMPARE_H
#define COMPARE_H
#include "buf.h"
#include "pattern.h"

struct figure {
	enum metric metric;
	double value, limit;	/* ulp: share within one step, and the least share */
	long long steps, max_steps;	/* ulp: largest distance, and the largest allowed; 0: any */
	double equal, least_equal;	/* ulp: share that is equal, and the least; 0: no condition */
	double row_rms;			/* rows: the worst row's, and where that is worst, or -1 */
	long long row_worst_at;
	bool ok;
};

struct output {
	const struct tensor *tensor;
	struct figure figure[TASK_CHECKS];
	int n;
	long long elements;
	long long wrong;	/* 0 when it is ok; -1: could not be counted */
	long long nonfinite;	/* not finite where the oracle is */
	long long worst_at;	/* flat index of the element shown, -1 for none */
	double expected, got;
	bool ok;
	char pattern[200];	/* of the wrong elements; empty: none, or not known */
};

/* Compares tensor number i of the task, lying at `got`, with the instance's reference. was: what lay there before the
 * run; NULL: not known. */
int compare_output(struct instance *in, int i, uint64_t got, const struct before *was, struct output *o, struct err *e);
/* {"name":..,"metrics":[..],"wrong":..,"pattern":..,"nonfinite":..,"worst":..} */
void compare_emit(struct buf *out, const struct instance *in, const struct output *o);
/* "output q: 32 of 512 elements wrong (the last row, zero); rfe 0.31 (at most 0.01); at [15,3] expected 1.25, got 0" */
void compare_words(struct buf *out, const struct instance *in, const struct output *o);

/* One number of a figure, the smaller the better: 0 is perfect and the limit just passes. */
struct measure {
	const char *name;	/* "rfe", "rows", "maxn", "exact", or "ulp.share", "ulp.max", "ulp.equal" */
	double value, limit;
};
enum { MEASURES = 3 };
/* The measures of a figure; returns how many there are. Of shares, what is missing to 1. */
int compare_measures(const struct figure *f, struct measure m[MEASURES]);
/* Value over limit: above 1 fails. 0 over 0 is 0, more over 0 infinite. */
double compare_used(const struct measure *m);
/* How much of its limits an output uses: the largest of its measures; infinite when it has non-finite elements. */
double compare_worst(const struct output *o);
#endif
