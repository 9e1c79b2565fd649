/* What the scorer keeps of a record: a few names and numbers. */
#ifndef TRIAL_H
#define TRIAL_H
#include "arm.h"
#include "die.h"
#include "guidance.h"
#include "record.h"
#include <stdbool.h>
#include <stddef.h>

/* How the timing of a trial ended. The first six say something about the submission: it is correct, or it is not. The
 * others say that nobody knows. */
enum ending {
	ENDED_CORRECT, ENDED_WRONG, ENDED_FAULT, ENDED_TIMEOUT, ENDED_INVALID, ENDED_NOT_BUILT,
	ENDED_NOISY, ENDED_STALE, ENDED_UNSUPPORTED, ENDED_TOOL_ERROR, ENDED_NOT_RUN, ENDINGS
};
extern const char *const ending_name[ENDINGS];
bool ending_measured(enum ending o);

enum judged { JUDGED_SCORED, JUDGED_UNSCORED, JUDGED_NOTHING, JUDGED_NOT, JUDGED };
extern const char *const judged_name[JUDGED];

/* Tokens by class, as in agent.usage. */
enum { CLASSES = 5 };
extern const char *const class_name[CLASSES];
/* Scores: the levels, then combined. */
enum { COMBINED = LEVELS, SCORES };
extern const char *const score_name[SCORES];

/* Unknown numbers are NaN. Strings are owned; NULL where the record has none. */
struct trial {
	char *id, *task, *model, *shared_hash, *device, *judge;
	enum arm arm;
	long long repeat;
	size_t order;			/* place among all records read */
	enum ending ending;
	bool cpu;			/* checked on the CPU */
	bool comparable;		/* timed on a GPU on bench workloads: may enter a score */
	bool scripted, scripted_judge;	/* a file of replies in place of a model */
	double speedup;			/* of a correct trial that is comparable */
	double expert;			/* the expert's speedup over the same workloads in the same run */
	enum judged judged;
	bool design;			/* the scores are of a design in words */
	double plain[SCORES], gated[SCORES];
	double usage[CLASSES], cost;
	bool left_out;			/* by pairing.h */
};

/* 0, or -1 and why the record is no trial. */
int trial_read(struct trial *t, const struct record *r, struct err *e);
void trial_release(struct trial *t);

struct trials {
	struct trial *v;
	size_t n, cap;
};
struct trial *trials_add(struct trials *t);	/* one more, zeroed; valid until the next call */
void trials_release(struct trials *t);
#endif
