/* Looking at a workload's data. */
#include "view.h"

int view_open(struct view *v, struct engine *x, const struct task *t, const struct workload *w, struct err *e)
{
	*v = (struct view){ 0 };
	if (instance_open(&v->in, x, t, w, e))
		return -1;
	layout_init(&v->l, &v->in, 0);
	return engine_alloc(x, v->l.size, &v->set.base, e);
}

int view_make(struct view *v, uint64_t seed, struct err *e)
{
	return set_make(&v->l, &v->set, seed, seed, e) || set_reference(&v->l, &v->set, e) ? -1 : 0;
}

void view_close(struct view *v)
{
	if (v->in.engine)
		engine_free(v->in.engine, v->set.base);
	if (v->in.task)
		instance_release(&v->in);
	layout_release(&v->l);
	*v = (struct view){ 0 };
}
