/* Every figure of the report, computed once from the trials; formats only print them.
 *
 *   task speedup of an arm   geometric mean of time.speedup over its correct repeats that were timed on a GPU
 *   correctness of an arm    share of its measured repeats that are correct
 *   Performance Score        geometric mean of task speedups; a task without a correct repeat counts by the rule
 *   scores                   mean over repeats, then over tasks
 *   change                   with - without over the cells that have both, so that nothing else changes
 *
 * A cell is one model and task. Unknown is NaN, never 0. Geometric means are kept as sums of logarithms. */
#ifndef SCORE_H
#define SCORE_H
#include "pairing.h"
#include "trial.h"

struct mean {
	double sum;
	int n;
};
double mean_value(const struct mean *m);	/* NaN when nothing was added */
double mean_exp(const struct mean *m);		/* exp of the mean */
double mean_sum(const struct mean *m);		/* NaN when nothing was added */

/* What a task without a correct submission counts as. */
enum incorrect { INCORRECT_BASELINE, INCORRECT_DROP, INCORRECT_NUMBER };
struct incorrect_rule {
	enum incorrect kind;
	double value;		/* a speedup; 1 for the baseline */
};

/* The trials of one model, task and arm. */
struct cell {
	int trials, measured, correct;
	int graded;		/* measured and comparable: may enter the Performance Score */
	enum ending ending;	/* of the first trial that is not correct, else ENDED_CORRECT */
	struct mean log_speed, plain[SCORES], gated[SCORES], usage[CLASSES], cost;
};

struct row {
	int model, task;	/* indexes */
	struct cell cell[ARMS];
};

struct arm_total {
	int trials, cells;	/* cells: those with a measured trial */
	double correct;		/* sum over cells of the share of correct repeats */
	int fallbacks;		/* cells that count by the rule for incorrect ones */
	struct mean log_perf;	/* over cells; exp of it is the Performance Score */
	struct mean plain[SCORES], gated[SCORES];
	struct mean usage[CLASSES], cost;	/* over trials */
	int ending[ENDINGS], judged[JUDGED];
};

/* A quantity in both arms, over the cells that have it in both. */
struct pair {
	struct mean without, with;
};

/* What guidance changed. */
struct change {
	struct pair correct;		/* shares */
	struct pair log_perf;		/* as in the Performance Score */
	struct pair log_speed;		/* correct in both arms, and timed */
	struct pair plain[SCORES], gated[SCORES];
	struct pair usage[CLASSES], cost;	/* of one repeat */
};
/* with - without; NaN without a cell. */
double pair_difference(const struct pair *p);
/* with / without of what is kept as a logarithm. */
double pair_ratio_exp(const struct pair *p);
/* with / without of sums. */
double pair_ratio(const struct pair *p);

struct total {
	struct arm_total arm[ARMS];
	struct change change;
};

struct score {
	struct incorrect_rule rule;
	char **models, **tasks, **devices;	/* sorted */
	int nmodels, ntasks, ndevices;
	struct row *rows;			/* by model, then task; only those with a trial */
	int nrows;
	struct total *model;			/* one per model */
	struct total all;
	struct mean *expert;			/* per task: log speedup of the expert, over trials */
	struct mean log_expert;			/* over tasks */
	/* models correct in every repeat of every task in both arms */
	bool *complete;				/* per model */
	int ncomplete;
	struct pair log_complete;		/* their speedups */
	/* what the reader must know */
	size_t records, bad, left_out, cpu, scripted, scripted_judge, untimed;
	size_t incomparable;			/* timed on a GPU, but not on bench workloads */
	int single;				/* cells with one arm of the pair only */
	int judges;				/* different ones among the scored trials */
	struct pairing pairing;
};

/* bad: lines that were no records. Sorts the trials and marks those left out. */
void score_compute(struct score *s, struct trials *t, const struct incorrect_rule *rule, size_t bad);
void score_release(struct score *s);
/* The speedup a cell has in the Performance Score: NaN when it is not counted. *fallback: by the rule. */
double cell_performance(const struct cell *c, const struct incorrect_rule *rule, bool *fallback);
#endif
