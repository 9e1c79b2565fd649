/* The configurations that autotuning chose for a task's own plans on this device, kept in the store: whoever is timed
 * there is measured against the same baseline, whichever of two near ones chance would prefer on that day. */
#ifndef CHOICE_H
#define CHOICE_H
#include "json.h"
#include "replay.h"

/* Chooses as was chosen on the device before, for the same bundle and workload, and appends the objects that
 * walk_choose() made then. False when nothing is kept: all is as it was. */
bool choice_load(const struct gpu_info *device, struct replay *r, struct buf *objects);
/* Chooses as such objects, in an array, say. -1 when the plan has no such steps or variants, and then some may be set. */
int choice_apply(struct replay *r, const struct json *objects);
/* A cache: where the store cannot be written nothing is kept. */
void choice_keep(const struct gpu_info *device, const struct replay *r, const struct buf *objects);
#endif
