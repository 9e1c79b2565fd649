/* Which elements of an output are wrong, and what they are like, in words: "the last row, zero". Looked for only once
 * an output has failed: a second pass over it where it lies, whose counts are put into words here. */
#ifndef PATTERN_H
#define PATTERN_H
#include "oracle.h"
#include "../oracle/oracle.h"
#include "../oracle/kernels.h"

/* When an element counts as wrong: its error is over `over`, or it is more than `steps` steps of its type from the
 * rounded reference, or it is not finite where the reference is. */
struct rule {
	double over;
	long long steps;
};

/* What an output's memory held before the run. All zero: not known. */
struct before {
	uint64_t base, poison;	/* part of a set of buffers poisoned with this (sets.h) */
	uint64_t same;		/* the address of a copy: for what is input and output */
};

/* The wrong elements' counts along each dimension, by bins of `width` neighbouring coordinates. */
struct spread {
	int ndim;
	long long elements, shape[TASK_DIMS], width[TASK_DIMS];
	const uint64_t *count[TASK_DIMS];	/* cdiv(shape, width) of them; unused where the shape is 1 */
	const char *const *name;		/* of the dimensions, as task.json writes them */
	struct traits traits;
};

/* Looks at tensor number i of the task, which lies at `got`: how many elements are wrong, and the words. */
int pattern_find(struct instance *in, int i, uint64_t got, const struct rule *rule, const struct before *was,
		 long long *wrong, struct buf *words, struct err *e);
/* Where they are, and what they are like: the part of pattern_find() that needs no data. */
void pattern_words(const struct spread *s, struct buf *words);
#endif
