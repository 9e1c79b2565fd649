/* What d2k-time says of one workload, and its JSON. */
#ifndef RESULT_H
#define RESULT_H
#include "compare.h"
#include "timing.h"

enum time_status {
	TIME_CORRECT, TIME_WRONG, TIME_FAULT, TIME_TIMEOUT, TIME_INVALID, TIME_NOISY, TIME_NOT_BUILT, TIME_STALE, TIME_UNSUPPORTED,
	TIME_TOOL_ERROR, TIME_NOT_RUN, TIME_STATUSES
};
extern const char *const time_status_name[TIME_STATUSES];

struct result {
	const char *id;
	enum time_status status;
	bool has_seed;
	uint64_t seed;			/* of the failure */
	struct buf message;		/* empty: none */
	struct output *outputs;		/* per output of the task, the worst seen over the seeds */
	int noutputs;
	double ns[LEGS];		/* medians; NaN: not measured */
	struct ratio vs[LEGS];		/* baseline and expert over the candidate */
	const struct timing *timing;	/* borrowed; NULL: not timed */
	double least_bytes, least_flops, floor_ns;
	struct buf variants[LEGS];	/* what walk_choose() says: JSON objects, comma-separated */
};

void result_init(struct result *r, const char *id);
void result_release(struct result *r);
/* Sets status and message, unless a status other than correct is set already. */
void result_fail(struct result *r, enum time_status s, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Keeps the worse of what was seen of an output. */
void result_keep(struct result *r, const struct output *o);
/* The workload's object. in: for shapes; may be NULL when there are no outputs. */
void result_emit(struct buf *out, const struct result *r, const struct instance *in);
#endif
