/* A record's job, done by workers: on a GPU one for all workloads, which waits its turn, on the CPU one for each. */
#ifndef WORK_H
#define WORK_H
#include "outcome.h"
#include "subject.h"

struct work {
	const struct subject *subject;
	struct outcome *outcome;	/* takes what they say */
	bool cpu;
	double timeout;			/* seconds for one worker, without waiting for the GPU */
	void (*waits)(const char *what);	/* called when the GPU is found taken, with who has it */
	void (*measures)(void);		/* called when the GPU's peaks are measured first, which is not charged either */
	double seconds;			/* set: of the slowest worker; NaN: none ran */
};

/* 0, or -1 when no worker could run or the program was interrupted (child_interrupted). */
int work_run(struct work *w, struct err *e);
#endif
