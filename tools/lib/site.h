/* One workload at work on a GPU: its sets of buffers, the replays of candidate, baseline and expert, and what comes of
 * it. Correct first, then timed, then checked again.
 *
 * While a plan runs, no reference for its data exists on the device: the oracle is evaluated afterwards, from inputs
 * made anew in a set of its own (the pristine set), against which the inputs are compared too. Functions that return
 * an int return -1 when the workload is over, and then the result says why. */
#ifndef SITE_H
#define SITE_H
#include "result.h"
#include "rig.h"
#include "walk.h"

enum { SETS_MIN = 2, SETS_MAX = 128 };

struct site {
	struct rig *rig;
	struct instance in;
	struct layout l;
	struct result r;
	struct replay replay[LEGS];
	bool ready[LEGS];		/* replay open and, for the task's own, right */
	struct err lacks[LEGS];		/* why not */
	bool in_place;			/* the task has inout tensors */
	bool hangs;			/* a kernel has not ended */
	uint64_t arena;			/* all sets */
	struct set set[SETS_MAX], pristine;
	int nsets, filled;		/* sets with data */
	int order[SETS_MAX];
	struct walk walk;
};

int site_open(struct site *s, struct rig *rig, const struct workload *w);
/* Whether nothing more can run in this process: the context is lost, or a kernel hangs. */
bool site_lost(const struct site *s);
/* Not for a site that is lost: there the driver cleans up when the process ends. */
void site_close(struct site *s);
/* Data for the sets that have none yet: each its own, from the fresh seed. 0 or -1, in e. */
int site_fill(struct site *s, struct err *e);
/* The result when the tool, or the task, is at fault. */
void site_tool_failed(struct site *s, const char *why);

/* The candidate on every seed, with the configuration that will be timed; then the task's own legs. */
int site_check(struct site *s);
/* References for the data of set i, by way of the pristine set. 0 or -1, in e. */
int site_reference(struct site *s, int i, struct err *e);
/* Examines a leg's run that read set i, whose references are made, and wrote set o. As exam_run(). */
int site_exam(struct site *s, int leg, int i, int o, struct buf *words, struct err *e);
/* Times the legs in turns, and checks one of the candidate's timed runs. */
int site_time(struct site *s);
#endif
