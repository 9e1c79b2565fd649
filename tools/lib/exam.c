/* Examining a run. */
#include "exam.h"

/* 0 when every output is right, 1 when not, -1 error. All are looked at. */
static int outputs(const struct exam *x, struct buf *words, struct err *e)
{
	struct instance *in = x->l->in;
	int wrong = 0;

	for (int i = 0; i < in->task->ntensors; i++) {
		const struct tensor *t = &in->task->tensors[i];
		const struct set *s = t->role == ROLE_OUT ? x->written : x->read;
		struct output o;

		if (t->role == ROLE_IN)
			continue;
		if (compare_output(in, i, set_tensor(x->l, s, i), &o, e))
			return -1;
		if (x->keep)
			result_keep(x->keep, &o);
		if (!o.ok) {
			if (wrong++)
				buf_addstr(words, "; ");
			compare_words(words, in, &o);
		}
	}
	return wrong > 0;
}

int exam_run(const struct exam *x, struct buf *words, struct err *e)
{
	int rc = outputs(x, words, e);

	if (!rc)
		rc = set_inputs(x->l, x->read, x->pristine, words, e);
	if (!rc)
		rc = set_bands(x->l, x->written, x->scratch, words, e);
	if (!rc && x->read != x->written)
		rc = set_bands(x->l, x->read, NULL, words, e);
	return rc;
}
