/* Judging outputs: the engine makes the sums, this decides. */
#include "compare.h"
#include "element.h"
#include <limits.h>
#include <math.h>
#include <stdio.h>
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

/* The worst row. Rows of different sizes, heads with a scale of their own say, weigh alike. */
static int judge_rows(struct instance *in, int i, uint64_t got, struct figure *f, double limit, struct err *e)
{
	const struct tensor *t = &in->task->tensors[i];
	long long shape[TASK_DIMS], n, rows;
	struct row_errors args = { .got = (const void *)(uintptr_t)got, .type = t->dtype,
				   .ref = (const double *)(uintptr_t)in->ref[i] };
	struct row_error *row;
	uint64_t p;
	int rc;

	*f = (struct figure){ .metric = METRIC_ROWS, .limit = limit, .ok = true, .row_worst_at = -1 };
	if (tensor_elements(t, in->workload, shape, &n, e))
		return -1;
	if (n < 1)
		return 0;
	args.width = shape[t->ndim - 1];
	rows = n / args.width;
	if (engine_alloc(in->engine, (size_t)rows * sizeof(*row), &p, e))
		return -1;
	args.out = (struct row_error *)(uintptr_t)p;
	row = xcalloc((size_t)rows, sizeof(*row));
	rc = engine_run(in->engine, "row_errors", &args, rows, e) ||
	     engine_read(in->engine, row, p, (size_t)rows * sizeof(*row), e) ? -1 : 0;
	engine_free(in->engine, p);
	for (long long k = 0; k < rows && !rc; k++) {
		double value = relative(sqrt(row[k].err2), sqrt(row[k].ref2));

		if (value <= f->value)
			continue;
		f->value = value;
		f->row_rms = sqrt(row[k].ref2 / (double)args.width);
		f->row_worst_at = row[k].worst_at;
	}
	f->ok = f->value <= limit;
	free(row);
	return rc;
}

static void judge_steps(struct figure *f, const struct check *c, const struct partial *p, long long n)
{
	double all = n > 0 ? (double)n : 1;

	f->value = 1 - (double)p->over_one / all;
	f->limit = c->share;
	f->steps = p->steps;
	f->max_steps = (long long)c->max;
	f->equal = 1 - (double)p->mismatch / all;
	f->least_equal = c->equal;
	f->ok = f->value >= c->share && (!f->max_steps || !p->over_max) && f->equal >= c->equal;
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
		judge_steps(&f, c, p, n);
		break;
	case METRIC_ROWS:
		break;		/* has sums of its own */
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
		if (o->figure[k].metric == METRIC_ROWS)
			return o->figure[k].row_worst_at;
		return o->figure[k].metric == METRIC_ULP ? p->steps_at : p->worst_at;
	}
	return p->worst_at;
}

/* What counts as wrong: see compare.h. */
static struct rule rule_of(const struct output *o, const struct partial *p)
{
	struct rule none = { INFINITY, LLONG_MAX }, r = none;
	double rms = sqrt(p->ref2 / (double)o->elements);

	for (int k = 0; k < o->n; k++) {
		const struct figure *f = &o->figure[k];

		if (f->ok)
			continue;
		if (f->metric == METRIC_RFE)
			r.over = 2 * f->limit * rms;
		else if (f->metric == METRIC_ROWS)
			r.over = 2 * f->limit * f->row_rms;
		else if (f->metric == METRIC_MAXN)
			r.over = f->limit * rms;
		else if (f->metric == METRIC_EXACT)
			r.steps = 0;
		else
			r.steps = f->value < f->limit ? 1 : f->max_steps && f->steps > f->max_steps ? f->max_steps : 0;
		return r;
	}
	return none;
}

/* Counts and describes what is wrong. Should that not work, for want of memory say, the verdict stands without it. */
static void look_closer(struct instance *in, int i, uint64_t got, const struct before *was, const struct partial *p,
			struct output *o)
{
	struct rule rule = rule_of(o, p);
	struct buf words = BUF_INIT;
	struct err ignored;

	if (pattern_find(in, i, got, &rule, was, &o->wrong, &words, &ignored))
		o->wrong = -1;
	else
		snprintf(o->pattern, sizeof(o->pattern), "%s", words.data);
	buf_release(&words);
}

static int read_shown(struct instance *in, int i, uint64_t got, struct output *o, struct err *e)
{
	enum dtype t = in->task->tensors[i].dtype;
	char element[8];

	if (o->worst_at < 0)
		return 0;
	if (engine_read(in->engine, &o->expected, in->ref[i] + 8 * (uint64_t)o->worst_at, sizeof(double), e) ||
	    engine_read(in->engine, element, got + (uint64_t)o->worst_at * dtype_size[t], dtype_size[t], e))
		return -1;
	o->got = element_get(t, element);
	return 0;
}

int compare_output(struct instance *in, int i, uint64_t got, const struct before *was, struct output *o, struct err *e)
{
	const struct tensor *t = &in->task->tensors[i];
	long long max_steps = 1;
	struct partial p;

	*o = (struct output){ .tensor = t, .elements = in->elements[i], .ok = true };
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
		o->figure[o->n] = judge(&t->check[k], &p, o->elements);
		if (t->check[k].metric == METRIC_ROWS &&
		    judge_rows(in, i, got, &o->figure[o->n], t->check[k].max, e))
			return -1;
		o->ok &= o->figure[o->n++].ok;
	}
	o->nonfinite = p.nonfinite;
	o->ok = o->ok && !p.nonfinite;
	o->worst_at = show(o, &p);
	if (!o->ok)
		look_closer(in, i, got, was, &p, o);
	return read_shown(in, i, got, o, e);
}

/* ---- figures as parts of their limits */

int compare_measures(const struct figure *f, struct measure m[MEASURES])
{
	int n = 0;

	if (f->metric != METRIC_ULP) {
		m[n++] = (struct measure){ metric_name[f->metric], f->value, f->limit };
		return n;
	}
	m[n++] = (struct measure){ "ulp.share", 1 - f->value, 1 - f->limit };
	if (f->max_steps)
		m[n++] = (struct measure){ "ulp.max", (double)f->steps, (double)f->max_steps };
	if (f->least_equal > 0)
		m[n++] = (struct measure){ "ulp.equal", 1 - f->equal, 1 - f->least_equal };
	return n;
}

double compare_used(const struct measure *m)
{
	return relative(m->value, m->limit);
}

double compare_worst(const struct output *o)
{
	double worst = o->nonfinite ? INFINITY : 0;
	struct measure m[MEASURES];

	for (int k = 0; k < o->n; k++)
		for (int j = compare_measures(&o->figure[k], m); j-- > 0;)
			worst = fmax(worst, compare_used(&m[j]));
	return worst;
}
