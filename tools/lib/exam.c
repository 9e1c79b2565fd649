/* Examining a run. */
#include "exam.h"

enum { WORDS_ENOUGH = 250 };	/* a message stays a line that can be read */

static void add_words(struct buf *words, const struct instance *in, const struct output *o)
{
	if (words->len < WORDS_ENOUGH) {
		buf_addstr(words, words->len ? "; " : "");
		compare_words(words, in, o);
	} else {
		buf_addf(words, "; output %s is wrong, too", o->tensor->name);
	}
}

/* What lay where an output is, before the run. */
static struct before before(const struct exam *x, int i)
{
	struct before was = { 0 };

	if (x->l->in->task->tensors[i].role == ROLE_INOUT)
		was.same = set_tensor(x->l, x->pristine, i);
	else
		was = (struct before){ .base = x->set->base, .poison = x->set->poison };
	return was;
}

/* 0 when every output is right, 1 when not, -1 error. All are looked at. */
static int outputs(const struct exam *x, struct buf *words, struct err *e)
{
	struct instance *in = x->l->in;
	int wrong = 0;

	for (int i = 0; i < in->task->ntensors; i++) {
		const struct tensor *t = &in->task->tensors[i];
		struct before was = before(x, i);
		struct output o;

		if (t->role == ROLE_IN)
			continue;
		if (compare_output(in, i, set_tensor(x->l, x->set, i), &was, &o, e))
			return -1;
		if (x->keep)
			result_keep(x->keep, &o);
		if (!o.ok)
			add_words(words, in, &o);
		wrong += !o.ok;
	}
	return wrong > 0;
}

/* What a run did to memory that is not its own is said first: it may be why its outputs are wrong. */
int exam_run(const struct exam *x, struct buf *words, struct err *e)
{
	struct buf said[3] = { BUF_INIT, BUF_INIT, BUF_INIT };
	int rc = set_bands(x->l, x->set, x->scratch, &said[0], e), wrong = rc;

	if (rc >= 0)
		rc = set_inputs(x->l, x->set, x->pristine, &said[1], e);
	wrong |= rc;
	if (rc >= 0)
		rc = outputs(x, &said[2], e);
	wrong |= rc;
	for (int i = 0; i < 3; i++) {
		buf_addstr(words, words->len && said[i].len ? "; " : "");
		buf_addbuf(words, &said[i]);
		buf_release(&said[i]);
	}
	return wrong;
}
