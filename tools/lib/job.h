/* What a worker of d2k-time is to do with one record. */
#ifndef JOB_H
#define JOB_H
#include "buf.h"
#include "sanitizer.h"
#include "task.h"
#include <stdint.h>

enum { SEEDS_MAX = 64 };

/* The three that run the same workloads. */
enum leg_id { LEG_CANDIDATE, LEG_BASELINE, LEG_EXPERT, LEGS };
extern const char *const leg_name[LEGS];

struct job {
	const struct task *task;
	const struct workload **workloads;	/* those to run */
	int nworkloads;
	struct buf bundle[LEGS];	/* texts; empty: absent */
	uint64_t seeds[SEEDS_MAX];	/* the last one fresh */
	int nseeds;
	int device;			/* ordinal, or CLAIM_ANY */
	double hang;			/* seconds a single step may take */
	double precision;		/* half-width of a ratio's 95 % interval that ends the timing of a workload ... */
	double max_time;		/* ... and the seconds that do */
	bool self_test;			/* all legs are the candidate's */
	bool tolerance;			/* only the candidate, checked on every seed whatever comes of it; see tolerance.h */
	bool profile;			/* afterwards tell where the candidate's time goes ... */
	enum sanitizer sanitizer;	/* ... and what this tool finds in it */
};

/* The seed drawn for this run: everything random of it follows from this one. */
uint64_t job_fresh_seed(const struct job *j);
#endif
