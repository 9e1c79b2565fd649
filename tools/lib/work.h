/* A record's job, done by workers: on a GPU one for all workloads, which waits its turn, on the CPU one for each.
 * Said on stderr: who has the GPU, and that its peaks are measured first; neither is charged. */
#ifndef WORK_H
#define WORK_H
#include "outcome.h"
#include "subject.h"

struct work {
	const struct subject *subject;
	struct outcome *outcome;	/* takes what they say */
	bool cpu;
	double timeout;			/* seconds for one worker, without waiting for the GPU and timing (job.max_time) */
	double seconds;			/* set: of the slowest worker; NaN: none ran */
};

/* 0, or -1 when no worker could run or the program was interrupted (child_interrupted). */
int work_run(struct work *w, struct err *e);
#endif
