/* What d2k-time works on: a record's submission, its task, the workloads to run, and the bundles, all checked against
 * each other. Bundles come from the record (d2k-build --embed) or the store. */
#ifndef SUBJECT_H
#define SUBJECT_H
#include "job.h"
#include "json.h"
#include "opt.h"
#include "record.h"
#include "result.h"

/* What is asked for. */
struct demand {
	bool cpu;
	int device;			/* number of the GPU, or CLAIM_ANY */
	const char *tier;
	struct opt_list workloads;	/* ids; none: all of the tier */
	int seeds;
	double hang;
	double precision, max_time;	/* struct job's */
	bool self_test, profile, tolerance;
	enum sanitizer sanitizer;
};

struct subject {
	const struct record *record;
	const struct json *build;	/* borrowed */
	struct task task;
	struct workload *workloads;	/* all of the task */
	int nworkloads;
	struct job job;
	char *source;			/* of the submission */
};

/* Correct, or why the record cannot be run: stale, tool_error. Releasable in any case. */
enum time_status subject_open(struct subject *s, const struct record *r, const struct json *build,
			      const struct demand *d, struct err *e);
void subject_release(struct subject *s);
#endif
