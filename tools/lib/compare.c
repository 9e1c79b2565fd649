/* Judging outputs: the engine makes the sums, this decides and words. */
#include "compare.h"
#include "element.h"
#include "emit.h"
#include "../oracle/oracle.h"
#include "../oracle/kernels.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GPU_STRIPS = 1 << 18, HOST_STRIPS = 64, FOLD = 512 };

/* Sums over the whole output. Strips interleave on the GPU (neighbours read neighbours) and are runs on the host. */
static int sums(struct instance *in, int i, uint64_t got, long long max_steps, struct partial *out, struct err *e)
{
	bool on_gpu = engine_on_gpu(in->engine);
	long long n = in->elements[i], strips = on_gpu ? GPU_STRIPS : HOST_STRIPS, folds;
	struct compare c = { .got = (const void *)(uintptr_t)got, .ref = (const double *)(uintptr_t)in->ref[i], .n = n,
			     .steps = max_steps };
	struct fold first, second;
	char *kernel;
	int rc;

	if (!in->partials && engine_alloc(in->engine, (size_t)(strips + FOLD + 1) * sizeof(*out), &in->partials, e))
		return -1;
	if (n < strips)
		strips = n > 0 ? n : 1;
	c.out = (struct partial *)(uintptr_t)in->partials;
	c.span = on_gpu ? 1 : (n + strips - 1) / strips;
	c.step = c.span > 1 ? 1 : strips;
	folds = (strips + FOLD - 1) / FOLD;
	first = (struct fold){ .in = c.out, .n = strips, .span = FOLD, .out = c.out + strips };
	second = (struct fold){ .in = first.out, .n = folds, .span = folds, .out = c.out + strips + folds };
	kernel = xasprintf("compare_%s", dtype_name[in->task->tensors[i].dtype]);
	rc = engine_run(in->engine, kernel, &c, strips, e) || engine_run(in->engine, "fold", &first, folds, e) ||
	     engine_run(in->engine, "fold", &second, 1, e) ||
	     engine_read(in->engine, out, (uint64_t)(uintptr_t)second.out, sizeof(*out), e);
	free(kernel);
	return rc ? -1 : 0;
}

/* x over a reference that may be zero. */
static double relative(double x, double reference)
{
	if (reference > 0)
		return x / reference;
	return x > 0 ? INFINITY : 0;
}

static struct figure judge(const struct check *c, const struct partial *p, long long n)
{
	struct figure f = { .metric = c->metric, .limit = c->max };

	switch (c->metric) {
	case METRIC_RFE:
		f.value = relative(sqrt(p->err2), sqrt(p->ref2));
		f.ok = f.value <= c->max;
		break;
	case METRIC_MAXN:
		f.value = relative(p->worst, sqrt(p->ref2 / (n > 0 ? (double)n : 1)));
		f.ok = f.value <= c->max;
		break;
	case METRIC_EXACT:
		f.value = (double)p->mismatch;
		f.limit = 0;
		f.ok = !p->mismatch;
		break;
	case METRIC_ULP:
		f.value = n > 0 ? 1 - (double)p->over_one / (double)n : 1;
		f.limit = c->share;
		f.steps = p->steps;
		f.max_steps = (long long)c->max;
		f.ok = f.value >= c->share && !p->over_max;
		break;
	}
	return f;
}

/* Which element to show: the first non-finite one, else the worst by the first condition that fails. */
static long long show(const struct output *o, const struct partial *p)
{
	if (p->nonfinite)
		return p->nonfinite_at;
	for (int k = 0; k < o->n; k++) {
		if (o->figure[k].ok)
			continue;
		if (o->figure[k].metric == METRIC_EXACT)
			return p->mismatch_at;
		return o->figure[k].metric == METRIC_ULP ? p->steps_at : p->worst_at;
	}
	return p->worst_at;
}

int compare_output(struct instance *in, int i, uint64_t got, struct output *o, struct err *e)
{
	const struct tensor *t = &in->task->tensors[i];
	long long max_steps = 1;
	struct partial p;
	char element[8];

	*o = (struct output){ .tensor = t, .elements = in->elements[i], .wrong = -1, .ok = true };
	for (int k = 0; k < t->nchecks; k++)
		if (t->check[k].metric == METRIC_ULP)
			max_steps = (long long)t->check[k].max;
	if (sums(in, i, got, max_steps, &p, e))
		return -1;
	if (t->nchecks == 0)
		return err_set(e, "output '%s' has no check", t->name);
	if (p.odd_ref == o->elements)	/* whatever is as odd would pass */
		return err_set(e, "the oracle has no finite value for output '%s'", t->name);
	for (int k = 0; k < t->nchecks; k++) {
		o->figure[o->n++] = judge(&t->check[k], &p, o->elements);
		o->ok = o->ok && o->figure[k].ok;
		if (t->check[k].metric == METRIC_EXACT)
			o->wrong = p.mismatch;
		else if (t->check[k].metric == METRIC_ULP)
			o->wrong = p.over_max ? p.over_max : o->figure[k].ok ? 0 : p.over_one;
	}
	o->nonfinite = p.nonfinite;
	o->ok = o->ok && !p.nonfinite;
	o->worst_at = show(o, &p);
	if (o->worst_at < 0)
		return 0;
	if (engine_read(in->engine, &o->expected, in->ref[i] + 8 * (uint64_t)o->worst_at, sizeof(double), e) ||
	    engine_read(in->engine, element, got + (uint64_t)o->worst_at * dtype_size[t->dtype], dtype_size[t->dtype],
			e))
		return -1;
	o->got = element_get(t->dtype, element);
	return 0;
}

static void index_text(struct buf *out, const struct instance *in, const struct output *o)
{
	long long shape[TASK_DIMS], index[TASK_DIMS], n, at = o->worst_at;
	struct err ignored;

	if (tensor_elements(o->tensor, in->workload, shape, &n, &ignored))
		return;
	for (int d = o->tensor->ndim; d-- > 0;) {
		index[d] = at % shape[d];
		at /= shape[d];
	}
	buf_addch(out, '[');
	for (int d = 0; d < o->tensor->ndim; d++)
		buf_addf(out, "%s%lld", d ? "," : "", index[d]);
	buf_addch(out, ']');
}

void compare_emit(struct buf *out, const struct instance *in, const struct output *o)
{
	struct buf index = BUF_INIT;

	emit_open(out, '{');
	emit_kstr(out, "name", o->tensor->name);
	emit_key(out, "metrics");
	emit_open(out, '[');
	for (int k = 0; k < o->n; k++) {
		emit_open(out, '{');
		emit_kstr(out, "metric", metric_name[o->figure[k].metric]);
		emit_knum(out, "value", o->figure[k].value);
		emit_kgiven(out, "limit", o->figure[k].limit);
		if (o->figure[k].metric == METRIC_ULP) {
			emit_kint(out, "steps", o->figure[k].steps);
			emit_kint(out, "max_steps", o->figure[k].max_steps);
		}
		emit_kbool(out, "ok", o->figure[k].ok);
		emit_close(out, '}');
	}
	emit_close(out, ']');
	if (o->wrong >= 0)
		emit_kint(out, "wrong", o->wrong);
	else
		emit_knull(out, "wrong");
	emit_kint(out, "nonfinite", o->nonfinite);
	if (o->worst_at >= 0) {
		index_text(&index, in, o);
		emit_key(out, "worst");
		emit_open(out, '{');
		emit_kraw(out, "index", index.data ? index.data : "[]", index.data ? index.len : 2);
		emit_knum(out, "expected", o->expected);
		emit_knum(out, "got", o->got);
		emit_close(out, '}');
	} else {
		emit_knull(out, "worst");
	}
	emit_close(out, '}');
	buf_release(&index);
}

void compare_words(struct buf *out, const struct instance *in, const struct output *o)
{
	const char *join = ": ";

	buf_addf(out, "output %s", o->tensor->name);
	if (o->nonfinite) {
		buf_addf(out, "%s%lld of %lld elements are not finite", join, o->nonfinite, o->elements);
		join = ", ";
	}
	for (int k = 0; k < o->n; k++) {
		const struct figure *f = &o->figure[k];

		if (f->ok)
			continue;
		if (f->metric == METRIC_EXACT)
			buf_addf(out, "%s%lld of %lld elements differ", join, o->wrong, o->elements);
		else if (f->metric == METRIC_ULP)
			buf_addf(out, "%s%.4f %% within one step of %s (at least %.4f %% needed), "
				 "largest distance %lld steps (at most %lld)", join, 100 * f->value, dtype_name[o->tensor->dtype],
				 100 * f->limit, f->steps, f->max_steps);
		else
			buf_addf(out, "%s%s %.3g (at most %.3g)", join, metric_name[f->metric], f->value, f->limit);
		join = ", ";
	}
	if (o->worst_at >= 0) {
		buf_addstr(out, "; at ");
		index_text(out, in, o);
		/* the sign of a NaN, which printf shows, means nothing */
		buf_addf(out, " expected %.6g, got %.6g", o->expected, isnan(o->got) ? (double)NAN : o->got);
	}
}
