/* Plans run by CUDA graphs that walk over rotating buffer sets, and timed.
 *
 * A lap is one graph: `lead` calls on sets of their own, an event, `calls` calls each on another set, an event. The
 * lead-in pushes out of L2 whatever lay there, so every timed call finds it as calls before it left it: inputs cold,
 * the lines they wrote still to be written back. The events are nodes of the graph: host launch cost is outside, gaps
 * between the plan's launches are inside. No set is used twice in a lap. */
#ifndef WALK_H
#define WALK_H
#include "replay.h"
#include <stdbool.h>

struct walk {
	struct gpu *gpu;
	const struct set *set;
	const int *order;	/* of sets; those of the lead-in first */
	int lead, calls;
	double hang;		/* seconds that what is run may take */
};

struct lap {
	void *graph, *from, *to;	/* graph and events; NULL: none */
};

/* Records the leg's lap, led in by calls of another plan: what is timed must not have run untimed just before, or it
 * could do the work of its timed calls then. Releasable after a failure too. */
int walk_record(const struct walk *w, struct replay *lead, struct replay *r, struct lap *l, struct err *e);
void walk_release(const struct walk *w, struct lap *l);
/* These return 1, and say so in e, when what runs has not ended after the time it may take; nothing more can be run then.
 * walk_run() runs it now and waits; ns per call. */
int walk_wait(const struct walk *w, struct err *e);
int walk_run(const struct walk *w, const struct lap *l, double *ns, struct err *e);
/* Runs it until its time no longer changes (clocks have risen, power has settled), or for half a second. how: may be
 * NULL. */
struct warmth {
	double seconds;		/* it took */
	bool stable;		/* its time did not change at the end */
};
int walk_warm(const struct walk *w, const struct lap *l, struct warmth *how, struct err *e);

/* Picks the fastest variant of each step that has several. Steps that offer the same kernels on the same grids are
 * measured and chosen together, as one key of Triton's autotuner would be. Appends {"steps":[..],"ns":[..],"chosen":..,
 * "config":..} per choice to out, ns being the whole plan's; a variant that cannot be launched has null. As above. */
int walk_choose(const struct walk *w, struct replay *r, struct buf *out, struct err *e);
#endif
