/* A bundle's plan for one workload, loaded on a GPU and ready to launch. No host code of the submission is involved:
 * a call is the plan's steps in order, with buffers looked up in a set. */
#ifndef REPLAY_H
#define REPLAY_H
#include "bundle.h"
#include "sets.h"

struct replay {
	struct gpu *gpu;
	const struct bundle *bundle;
	const struct plan *plan;
	void **module, **func;	/* per kernel of the bundle; NULL where the plan does not use it */
	int *chosen;		/* per step: the variant a call launches */
	struct slot *slot;	/* per plan buffer: where it lies in a set */
	uint64_t *spare;	/* per step: where in a set the kernel's own global scratch lies; 0: it needs none */
	struct scratch scratch;	/* of both kinds */
	int step;		/* the step a failed call had come to */
};

/* Room in a set for the plan's scratch, and its kernels' own. */
size_t replay_scratch_bytes(const struct bundle *b, const struct plan *p);
/* Loads the plan's modules and checks every launch against the kernel's own parameters. The plan fits the task
 * (bundle_fits). Releasable after a failure too. */
int replay_open(struct replay *r, struct gpu *g, const struct bundle *b, const struct plan *p, const struct layout *l,
		struct err *e);
void replay_release(struct replay *r);
/* Gives modules back, so that another's may come to lie there. */
void replay_unload(struct replay *r);
/* Loads the modules of the chosen variants anew, so that nothing a kernel kept in its module survives. */
int replay_reload(struct replay *r, struct err *e);
/* Launches every step on the set at this address. */
int replay_call(struct replay *r, uint64_t set, struct err *e);
/* The same, waiting at most `seconds` for each step: 0 done, 1 a step does not end, -1 error; r->step says which. */
int replay_careful(struct replay *r, uint64_t set, double seconds, struct err *e);
/* The kernel launched by a step, for messages; "fill" for a fill. */
const char *replay_step_name(const struct replay *r, int step);
#endif
