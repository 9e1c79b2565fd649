/* Checking a submission while the agent works: the trial with the source so far goes through the pipeline that the user
 * named (d2k-build | d2k-time), and what comes out is put into words a model can act on. Nothing is judged here. */
#ifndef EVALUATE_H
#define EVALUATE_H
#include "buf.h"
#include "die.h"
#include "record.h"
#include <stdbool.h>

struct evaluator {
	const char *pipeline;		/* a bash command line */
	const char *profile;		/* the same for profile(); NULL: that of check() */
	double timeout;			/* seconds */
};

struct evaluation {
	char status[32];		/* time.status, or build.status where it was not timed */
	double speedup;			/* NaN when there is none */
	struct buf text;		/* for the model */
};

enum evaluate_end {
	EVALUATE_OK,			/* also when the pipeline broke: the text says so */
	EVALUATE_AWAY			/* exit status 75, or interrupted: the trial is to be resumed later */
};

enum evaluate_end evaluate(const struct evaluator *v, const struct record *trial, const char *source, bool profile,
			   struct evaluation *out, struct err *e);
/* What a record with sections `build` and `time` tells, with more of it for profile(). */
struct json;
void evaluate_words(const struct json *record, bool profile, struct buf *out);
#endif
