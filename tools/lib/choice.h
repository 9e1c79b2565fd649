/* The configurations that autotuning chose for a task's own plans on this device, kept in the store: whoever is timed
 * there is measured against the same baseline, whichever of two near ones chance would prefer on that day. */
#ifndef CHOICE_H
#define CHOICE_H
#include "replay.h"

/* What a choice depends on. */
struct choice {
	const struct gpu_info *device;
	const struct buf *bundle;	/* its text */
	const char *workload;
};

/* Chooses as was chosen before, and appends the objects that walk_choose() made then. False when nothing is kept. */
bool choice_load(const struct choice *c, struct replay *r, struct buf *objects);
/* A cache: where the store cannot be written nothing is kept. */
void choice_keep(const struct choice *c, const struct buf *objects);
#endif
