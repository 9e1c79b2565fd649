/* One workload's inputs and references on one engine, for looking at: a set of its own, nothing timed. */
#ifndef VIEW_H
#define VIEW_H
#include "sets.h"

struct view {
	struct instance in;
	struct layout l;
	struct set set;
};

/* Memory only; closable after a failure too. The view must stay where it is. */
int view_open(struct view *v, struct engine *x, const struct task *t, const struct workload *w, struct err *e);
/* Inputs of a seed, the rest of the set poisoned from it, and their references. */
int view_make(struct view *v, uint64_t seed, struct err *e);
void view_close(struct view *v);
#endif
