/* A run that has ended, held against what it should have done: guard bands and inputs against what they were, outputs
 * against the references. */
#ifndef EXAM_H
#define EXAM_H
#include "result.h"
#include "sets.h"

struct exam {
	const struct layout *l;
	const struct set *set;			/* that it ran on */
	const struct set *pristine;		/* the same inputs, made anew */
	const struct scratch *scratch;		/* in the set; NULL: none */
	struct result *keep;			/* takes the figures; NULL: nobody */
};

/* 0 right, 1 wrong (words says how), -1 error. The instance's references are those of the inputs that were read. */
int exam_run(const struct exam *x, struct buf *words, struct err *e);
#endif
