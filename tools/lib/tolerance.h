/* A task's tolerances between right and wrong: how far below them submissions stay that are meant to be right, how far
 * above those come that are meant to be wrong, over many seeds (d2k-time --calibrate-tolerance).
 *
 * What is wrong need not be so everywhere: an omitted tail is none where the tiles come out even. But a submission is
 * right only if it is on every workload of a tier. So of a wrong one that counts, on each seed, which workload and
 * which condition shows it best, and of the seeds the worst; of a right one the worst of all runs. */
#ifndef TOLERANCE_H
#define TOLERANCE_H
#include "result.h"
#include "subject.h"

enum { TOLERANCE_MARGIN = 2 };		/* least distance to either side, as a factor */

/* An output, a measure of it (compare.h) and its limit. */
struct condition {
	const char *output;
	struct measure measure;		/* no value */
};

/* What one run of a submission came to. */
struct trial_run {
	int submission;
	char *workload;
	uint64_t seed;
	double *value;			/* per condition; infinite where an output is not finite */
};

struct contender {
	char *name;
	bool honest;			/* meant to be right */
	char source_sha256[HASH_HEX];
	char *trouble;			/* why it tells nothing; NULL: nothing is wrong */
};

struct tolerance {
	const struct task *task;
	struct condition *condition;
	int nconditions;
	struct contender *contender;
	int ncontenders;
	struct trial_run *run;
	size_t nruns, cap;
};

void tolerance_init(struct tolerance *t, const struct task *task);
void tolerance_release(struct tolerance *t);
/* A further submission, whose runs are taken next. */
void tolerance_enter(struct tolerance *t, const char *name, bool honest, const char *source_sha256);
/* A run of it, as its worker told it. */
void tolerance_take(struct tolerance *t, const char *line);
/* It could not be run. Only the first reason is kept. */
void tolerance_trouble(struct tolerance *t, const char *why);

/* In the worker: tells one seed's run (PROGRESS_FIGURES). */
void tolerance_tell(int fd, const struct result *r, uint64_t seed);

/* Where the tolerances were tried. */
struct tolerance_place {
	const char *tier, *device;
	const uint64_t *seeds;
	int nseeds;			/* the last one fresh */
};
/* The report, JSON lines: the whole, each condition, each submission. True when every margin is kept. */
bool tolerance_report(const struct tolerance *t, const struct tolerance_place *p, struct buf *out, struct err *e);

/* What a line of the report says comes from one run, by one condition. */
struct finding {
	const struct trial_run *run;	/* NULL: there is none */
	int condition;
	double used;			/* value over limit */
};
/* By condition k, or by the one that shows most, how much of the limit a run uses up. */
double tolerance_used(const struct tolerance *t, const struct trial_run *r, int k);
double tolerance_most_used(const struct tolerance *t, const struct trial_run *r);
/* What counts of a submission, by a condition (-1: any): its farthest run if it is honest, else the farthest run of the
 * seed on which that is nearest. */
struct finding tolerance_counts(const struct tolerance *t, int submission, int condition);

/* Runs the records of the files (none: stdin) and prints the report. Each has a name (`id`), says whether it is meant
 * to be right (`honest`), and was built. The demand's `tolerance` is set. Returns the exit code. */
int tolerance_run(const char *task, const struct demand *d, double seconds_per_seed, char *const *files, int n);
#endif
