/* What is said of an output, as JSON and in words. */
#include "compare.h"
#include "emit.h"
#include <math.h>

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
			emit_kcount(out, "max_steps", o->figure[k].max_steps ? o->figure[k].max_steps : -1);
			emit_knum(out, "equal", o->figure[k].equal);
			if (o->figure[k].least_equal > 0)
				emit_kgiven(out, "least_equal", o->figure[k].least_equal);
			else
				emit_knull(out, "least_equal");
		}
		emit_kbool(out, "ok", o->figure[k].ok);
		emit_close(out, '}');
	}
	emit_close(out, ']');
	if (o->wrong >= 0)
		emit_kint(out, "wrong", o->wrong);
	else
		emit_knull(out, "wrong");
	emit_kstr(out, "pattern", *o->pattern ? o->pattern : NULL);
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

static void add_steps(struct buf *out, const struct output *o, const struct figure *f)
{
	const char *join = "";

	if (f->value < f->limit) {
		buf_addf(out, "%.6g %% within one step of %s (at least %.6g %%)", 100 * f->value,
			 dtype_name[o->tensor->dtype], 100 * f->limit);
		join = ", ";
	}
	if (f->equal < f->least_equal) {
		buf_addf(out, "%s%.6g %% equal (at least %.6g %%)", join, 100 * f->equal, 100 * f->least_equal);
		join = ", ";
	}
	if (f->max_steps && f->steps > f->max_steps)
		buf_addf(out, "%sthe farthest %lld steps off (at most %lld)", join, f->steps, f->max_steps);
}

/* How the wrong elements are spread, then the conditions that fail. */
static void add_reasons(struct buf *out, const struct output *o)
{
	const char *join = ": ";

	if (o->wrong > 0) {
		buf_addf(out, "%s%lld of %lld elements wrong (%s)", join, o->wrong, o->elements, o->pattern);
		join = "; ";
	} else if (*o->pattern) {
		buf_addf(out, "%s%s", join, o->pattern);
		join = "; ";
	}
	if (o->nonfinite) {
		buf_addf(out, "%s%lld of %lld elements are not finite", join, o->nonfinite, o->elements);
		join = "; ";
	}
	for (int k = 0; k < o->n; k++) {
		const struct figure *f = &o->figure[k];

		if (f->ok || f->metric == METRIC_EXACT)
			continue;
		buf_addstr(out, join);
		join = ", ";
		if (f->metric == METRIC_ULP)
			add_steps(out, o, f);
		else
			buf_addf(out, "%s %.3g (at most %.3g)",
				 f->metric == METRIC_ROWS ? "rfe of the worst row" : metric_name[f->metric], f->value,
				 f->limit);
	}
}

void compare_words(struct buf *out, const struct instance *in, const struct output *o)
{
	buf_addf(out, "output %s", o->tensor->name);
	add_reasons(out, o);
	if (o->worst_at >= 0) {
		buf_addstr(out, "; at ");
		index_text(out, in, o);
		/* the sign of a NaN, which printf shows, means nothing */
		buf_addf(out, " expected %.6g, got %.6g", o->expected, isnan(o->got) ? (double)NAN : o->got);
	}
}
