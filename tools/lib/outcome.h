/* What workers said of one record, put together into its `time` section. */
#ifndef OUTCOME_H
#define OUTCOME_H
#include "job.h"
#include "progress.h"
#include "result.h"

struct outcome {
	const struct job *job;
	enum time_status status;
	struct buf reason;		/* empty: null */
	struct buf device;		/* JSON; empty: null */
	struct buf again;		/* not empty: no device, and why */
	struct buf phases;		/* in words; empty: not told */
	double waited;			/* seconds for the device's lock; NaN: none was asked for */
	struct outcome_workload {
		bool begun;
		char *json;		/* NULL: no result */
		enum time_status status;
		char *message;
		double speedup, vs_expert;	/* NaN: null */
		double low, high;		/* of the speedup's interval */
		bool same;			/* the verdict */
		char *profile;			/* JSON; NULL: null */
	} *workload;
	struct buf sanitizer;		/* JSON; empty: null */
	struct buf figures;		/* of single runs, JSON lines (tolerance.h) */
	int actor;			/* who was at work last (progress.h), since `mark`, ... */
	double mark, spent[ACTORS];	/* ... and for how many seconds each was before */
	bool ended;			/* the worker said so, or it is known in which workload it went away */
};

void outcome_init(struct outcome *o, const struct job *job);
void outcome_release(struct outcome *o);
/* A line of the protocol in progress.h. */
void outcome_line(struct outcome *o, const char *line);
/* Who had most of the worker's time until now, the candidate if it had half of it; and how much. */
int outcome_busiest(struct outcome *o, double *seconds);
/* The profile of workload i, as JSON. */
void outcome_profile(struct outcome *o, int i, const char *json);
/* After the worker of workload i (or of all: i < 0) is gone: what is missing gets a status, with the reason. */
void outcome_close(struct outcome *o, int i, enum time_status missing, const char *why);
/* Status and reason of the record from its workloads, unless the whole failed; and from the sanitizer, whose findings
 * make a correct record wrong where they prove something (sanitizer.h). */
void outcome_settle(struct outcome *o);
/* After --self-test: the verdict on each workload and the noise floor, as messages that begin with `where`. Whether all
 * are "same". */
bool outcome_verdicts(const struct outcome *o, const char *where);
/* Why the sanitizer could find nothing, or what it found that proves nothing; false: there is nothing to say. */
bool outcome_sanitizer_words(const struct outcome *o, struct buf *words);
/* "workloads", "speedup", "vs_expert", "sanitizer" members. */
void outcome_emit(struct buf *out, const struct outcome *o);
#endif
