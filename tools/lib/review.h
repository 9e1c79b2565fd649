/* What is looked at when all of a record is told: the profile of each workload, and what compute-sanitizer finds.
 * Nothing of it can change what was told before. */
#ifndef REVIEW_H
#define REVIEW_H
#include "outcome.h"
#include "site.h"
#include "subject.h"

struct review {
	struct rig *rig;
	struct timed {
		int *chosen;		/* variants; NULL: the workload was not timed */
		double ns;
	} *timed;			/* per workload of the job */
	bool hangs;			/* a kernel still runs: nothing more can */
};

/* Seconds that a review of so many workloads may take. */
double review_seconds(const struct job *job);

void review_init(struct review *v, struct rig *rig);
void review_release(struct review *v);
/* Keeps what is needed of workload i, before its site is closed. */
void review_keep(struct review *v, int i, const struct site *s);
/* Does what the job asks for, and tells it. */
void review_run(struct review *v);

/* Without a GPU: what can be known of the record's kernels, for each workload. */
void review_static(const struct subject *s, struct outcome *o);
#endif
