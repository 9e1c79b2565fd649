/* Results of one workload. */
#include "result.h"
#include "emit.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

const char *const time_status_name[TIME_STATUSES] = {
	[TIME_CORRECT] = "correct", [TIME_WRONG] = "wrong", [TIME_FAULT] = "fault", [TIME_TIMEOUT] = "timeout",
	[TIME_INVALID] = "invalid", [TIME_NOISY] = "noisy", [TIME_NOT_BUILT] = "not_built", [TIME_STALE] = "stale",
	[TIME_UNSUPPORTED] = "unsupported", [TIME_TOOL_ERROR] = "tool_error", [TIME_NOT_RUN] = "not_run",
};

void result_init(struct result *r, const char *id)
{
	*r = (struct result){ .id = id, .status = TIME_CORRECT, .least_bytes = NAN, .least_flops = NAN,
		.floor_ns = NAN };
	for (int k = 0; k < LEGS; k++) {
		r->ns[k] = NAN;
		r->vs[k] = (struct ratio){ NAN, NAN, NAN };
	}
}

void result_release(struct result *r)
{
	free(r->outputs);
	buf_release(&r->message);
	for (int k = 0; k < LEGS; k++)
		buf_release(&r->variants[k]);
}

void result_fail(struct result *r, enum time_status s, const char *fmt, ...)
{
	char text[2048];
	va_list ap;

	if (r->status != TIME_CORRECT)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	r->status = s;
	buf_reset(&r->message);
	buf_addstr(&r->message, text);
}

/* How far an output is from its limits: above 1 fails. */
static double badness(const struct output *o)
{
	double worst = o->nonfinite ? INFINITY : 0;

	for (int k = 0; k < o->n; k++) {
		const struct figure *f = &o->figure[k];
		double x = f->metric == METRIC_ULP ? (1 - f->value) / (1 - f->limit + 1e-12)
			: f->value / (f->limit + 1e-300);

		if (!f->ok && !(x > 1))
			x = 2;
		worst = fmax(worst, x);
	}
	return worst;
}

void result_keep(struct result *r, const struct output *o)
{
	for (int i = 0; i < r->noutputs; i++)
		if (r->outputs[i].tensor == o->tensor) {
			if (badness(o) > badness(&r->outputs[i]))
				r->outputs[i] = *o;
			return;
		}
	r->outputs = xrealloc(r->outputs, (size_t)(r->noutputs + 1) * sizeof(*r->outputs));
	r->outputs[r->noutputs++] = *o;
}

/* KEY, and its interval as KEY_ci. */
static void emit_ratio(struct buf *out, const char *key, const char *ci, const struct ratio *r)
{
	emit_knum(out, key, r->value);
	if (isnan(r->low)) {
		emit_knull(out, ci);
		return;
	}
	emit_key(out, ci);
	emit_open(out, '[');
	emit_num(out, r->low);
	emit_num(out, r->high);
	emit_close(out, ']');
}

static void emit_variants(struct buf *out, const struct result *r)
{
	emit_key(out, "variants");
	emit_open(out, '{');
	for (int k = 0; k < LEGS; k++) {
		emit_key(out, leg_name[k]);
		emit_open(out, '[');
		if (r->variants[k].len)
			emit_raw(out, r->variants[k].data, r->variants[k].len);
		emit_close(out, ']');
	}
	emit_close(out, '}');
}

void result_emit(struct buf *out, const struct result *r, const struct instance *in)
{
	emit_open(out, '{');
	emit_kstr(out, "id", r->id);
	emit_kstr(out, "status", time_status_name[r->status]);
	if (r->has_seed)
		emit_kseed(out, "seed", r->seed);
	else
		emit_knull(out, "seed");
	emit_kstr(out, "message", r->message.len ? r->message.data : NULL);
	emit_key(out, "outputs");
	emit_open(out, '[');
	for (int i = 0; i < r->noutputs; i++)
		compare_emit(out, in, &r->outputs[i]);
	emit_close(out, ']');
	emit_key(out, "ns");
	emit_open(out, '{');
	for (int k = 0; k < LEGS; k++)
		emit_knum(out, leg_name[k], r->ns[k]);
	emit_close(out, '}');
	emit_ratio(out, "speedup", "speedup_ci", &r->vs[LEG_BASELINE]);
	emit_ratio(out, "vs_expert", "vs_expert_ci", &r->vs[LEG_EXPERT]);
	emit_kstr(out, "verdict", timing_verdict(&r->vs[LEG_BASELINE]));
	emit_knum(out, "floor_ns", r->floor_ns);
	emit_knum(out, "roofline", r->floor_ns / r->ns[LEG_CANDIDATE]);
	emit_knum(out, "bytes", r->least_bytes);
	emit_knum(out, "flops", r->least_flops);
	emit_variants(out, r);
	timing_emit(out, r->timing);
	emit_close(out, '}');
}
