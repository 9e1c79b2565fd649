/* One workload at work on a GPU: its sets of buffers, the replays of candidate, baseline and expert, and what comes of
 * it. Correct first, then timed, then checked again.
 *
 * While a candidate runs, nothing of the oracle's is on the device but its code: references are computed afterwards,
 * from inputs made anew in a set of its own (the pristine set), against which the inputs are compared too. Functions
 * that return an int return -1 when the workload is over, and then the result says why. */
#ifndef SITE_H
#define SITE_H
#include "pool.h"
#include "result.h"
#include "rig.h"
#include "walk.h"

#define SITE_BLOCK_NS 4e5	/* least length of a block */

struct site {
	struct rig *rig;
	struct instance in;
	struct layout l;
	struct pool pool;
	struct result r;
	struct timing timing;
	struct replay replay[LEGS];
	bool ready[LEGS];		/* replay open and, for the task's own, right */
	struct err lacks[LEGS];		/* why not */
	int actor;			/* who is at work, or was when it failed */
	bool hangs;			/* a kernel has not ended */
	uint64_t data_seed;		/* of the data made last; each is the next */
	int nsets, order[POOL_MAX];	/* the sets in the order of a lap */
	int calls_min;			/* of a lap: their sets exceed L2 four times */
	struct walk walk;
	struct lap lap[LEGS];
	double exam_seconds;		/* of the timing's went into examining runs */
};

int site_open(struct site *s, struct rig *rig, const struct workload *w);
/* Whether nothing more can run in this process: the context is lost, or a kernel hangs. */
bool site_lost(const struct site *s);
/* Not for a site that is lost: there the driver cleans up when the process ends. */
void site_close(struct site *s);
/* New data for all sets, each its own. 0 or -1, in e. */
int site_fill(struct site *s, struct err *e);
/* The result when the tool, or the task, is at fault. */
void site_tool_failed(struct site *s, const char *why);

/* The candidate on every seed, with the configuration that will be timed; then the task's own legs. */
int site_check(struct site *s);
/* Of these, one run of the candidate on the job's seed number n. */
int site_seed(struct site *s, int n);
/* Instead of both: a run on every seed, each told by itself (tolerance.h), with all configurations in turn. */
void site_figures(struct site *s);
/* Examines a leg's run on a set; references for the set's data are made first unless `made`. As exam_run(). */
int site_exam(struct site *s, int leg, const struct set *set, bool made, struct buf *words, struct err *e);
/* Who is at work from here on (progress.h): what the process dies of, is late by, or fails with while timed is theirs. */
void site_actor(struct site *s, int actor);
/* `what` of a leg's had not ended after the time that a step may take, or it failed. */
void site_hangs(struct site *s, int leg, const char *what);
void site_failed(struct site *s, int leg, const char *why);

/* Sets of the block that has just run are copied: `fresh`, whose data no block before had, or others that were timed. */
int site_keep(struct site *s, int fresh, struct err *e);
/* Examines them: all, or as many as there is time for. 0 or -1, in e, when one is wrong or it cannot be told. */
int site_look_back(struct site *s, struct err *e);
/* One placement's rounds: legs in turns on the laps that are recorded, appended to the timing. `witness`, which was drawn
 * before anything ran: calls of the candidate's last block are examined. 0 or -1, in e. */
int site_turns(struct site *s, bool witness, struct err *e);
/* A leg's lap hangs. -1. */
int site_lap_hangs(struct site *s, int leg, struct err *e);
/* Times the legs in turns, and examines some of the candidate's timed runs. */
int site_time(struct site *s);
#endif
