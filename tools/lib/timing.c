/* Statistics of blocks. */
#include "timing.h"
#include "emit.h"
#include "nvml.h"
#include "stats.h"
#include <math.h>
#include <stdlib.h>

#define TAIL 0.025	/* outside of an interval, on either side */

double timing_ns(const struct timing *t, int leg)
{
	double *ns = xcalloc((size_t)t->n + 1, sizeof(*ns)), median;

	for (int i = 0; i < t->n; i++)
		ns[i] = (double)t->block[i][leg].ns;
	median = t->leg[leg] ? stats_median(ns, (size_t)t->n) / t->calls : NAN;
	free(ns);
	return median;
}

/* Sum of squares of n values about their mean. */
static double squares(const double *x, size_t n)
{
	double mean = stats_mean(x, n), sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += (x[i] - mean) * (x[i] - mean);
	return sum;
}

/* Per placement the median over its rounds; returns how many placements have any. `within`: the sum over them of the
 * squares of rounds about their mean; NULL: not wanted. */
static size_t log_ratios(const struct timing *t, int over, int under, double *out, double *within)
{
	double *logs = xcalloc((size_t)t->n + 1, sizeof(*logs));
	size_t placements = 0, n = 0;

	for (int i = 0; i < t->n; i++) {
		logs[n++] = log((double)t->block[i][over].ns / (double)t->block[i][under].ns);
		if (i + 1 == t->n || t->placement[i + 1] != t->placement[i]) {
			out[placements++] = stats_median(logs, n);
			if (within)
				*within += squares(logs, n);
			n = 0;
		}
	}
	free(logs);
	return placements;
}

/* Standard error of a median of so many rounds of that variance (its own is taken as pi/2 of that of a mean), or of the
 * mean of several placements' medians, of so many rounds together. */
static double median_error(double variance, double rounds)
{
	return sqrt(M_PI / 2 * variance / rounds);
}

/* Half the width that the noise of rounds alone gives the mean of n placements' medians, were placements no bias. 0 when
 * no placement has two rounds. */
static double noise_half_width(double within, size_t rounds, size_t n)
{
	double df = (double)(rounds - n);

	if (rounds == n)
		return 0;
	return stats_t_quantile(1 - TAIL, df) * median_error(within / df, (double)rounds);
}

struct ratio timing_ratio(const struct timing *t, int over, int under, uint64_t seed)
{
	struct ratio r = { NAN, NAN, NAN };
	double *logs, within = 0, mean, least;
	size_t n;

	if (!t->leg[over] || !t->leg[under])
		return r;
	logs = xcalloc((size_t)t->n + 1, sizeof(*logs));
	n = log_ratios(t, over, under, logs, &within);
	mean = stats_mean(logs, n);
	if (isfinite(mean)) {		/* else there are placements in which a leg took no time */
		stats_bootstrap_mean(logs, n, 1 - 2 * TAIL, seed, &r.low, &r.high);
		if (n > 1) {
			least = noise_half_width(within, (size_t)t->n, n);
			r.low = fmin(r.low, mean - least);
			r.high = fmax(r.high, mean + least);
		}
		r = (struct ratio){ exp(mean), exp(r.low - TIMING_GRAIN), exp(r.high + TIMING_GRAIN) };
	}
	free(logs);
	return r;
}

/* Whether more than so many rounds are of no use to the ratio to that leg. */
static bool suffice(const struct timing *t, int leg, int rounds)
{
	double *medians = xcalloc((size_t)t->n + 1, sizeof(*medians)), within = 0, between, round, mean;
	size_t total = (size_t)t->n, n = log_ratios(t, leg, LEG_CANDIDATE, medians, &within);

	between = n < TIMING_PLACEMENTS ? 0 : squares(medians, n) / (double)(n - 1);
	free(medians);
	if (n < 2 || n == total)
		return false;
	round = within / (double)(total - n);		/* variances: of a round, */
	mean = round * (double)n / (double)total;	/* of a placement's mean */
	if (between > 6 * mean)				/* a median's is pi/2 of a mean's */
		return true;
	return median_error(round, rounds * TIMING_PLACEMENTS) < t->precision / 8;
}

bool timing_rounds_suffice(const struct timing *t, int rounds)
{
	for (int k = LEG_BASELINE; k < LEGS; k++)
		if (t->leg[k] && !suffice(t, k, rounds))
			return false;
	return t->leg[LEG_BASELINE] || t->leg[LEG_EXPERT];
}

const char *timing_verdict(const struct ratio *r)
{
	if (isnan(r->low))
		return NULL;
	return r->low > 1 + TIMING_RESOLUTION ? "faster" : r->high < 1 - TIMING_RESOLUTION ? "slower" : "same";
}

double timing_half_width(const struct ratio *r)
{
	return (r->high - r->low) / 2 / r->value;
}

/* ---- JSON */

static void emit_reasons(struct buf *out, const char *key, uint64_t reasons)
{
	struct buf names = BUF_INIT;

	nvml_reason_names(reasons, &names);
	emit_kraw(out, key, names.data, names.len);
	buf_release(&names);
}

static void emit_timing(struct buf *out, const struct timing *t)
{
	emit_key(out, "timing");
	emit_open(out, '{');
	emit_kint(out, "placements", t->placements);
	emit_kint(out, "rounds", t->n);
	emit_kint(out, "calls", t->calls);
	emit_kint(out, "lead_calls", t->lead);
	emit_kint(out, "examined", t->examined);
	emit_kint(out, "dropped", t->dropped);
	emit_reasons(out, "dropped_for", t->dropped_for);
	emit_kbool(out, "shared", t->shared);
	emit_reasons(out, "clocks_held_by", t->reasons);
	emit_kcount(out, "temperature", t->temperature);
	emit_kcount(out, "power_mw", t->power_mw);
	emit_kgiven(out, "precision", t->precision);
	emit_kstr(out, "ended_by", t->ended_by);
	emit_kgiven(out, "warm_seconds", round(t->warm_seconds * 1e3) / 1e3);
	emit_kbool(out, "warm_stable", t->warm_stable);
	emit_kgiven(out, "seconds", round(t->seconds * 1e3) / 1e3);
	emit_close(out, '}');
}

enum column { COLUMN_NS, COLUMN_SM, COLUMN_MEMORY };

static void emit_column(struct buf *out, const struct timing *t, int leg, enum column what)
{
	emit_open(out, '[');
	for (int i = 0; i < t->n; i++) {
		const struct block *b = &t->block[i][leg];
		long long x = what == COLUMN_NS ? b->ns : what == COLUMN_SM ? b->sm_mhz : b->memory_mhz;

		if (x < 0)
			emit_null(out);
		else
			emit_int(out, x);
	}
	emit_close(out, ']');
}

static void emit_columns(struct buf *out, const char *key, const struct timing *t, enum column what)
{
	emit_key(out, key);
	emit_open(out, '{');
	for (int k = 0; k < LEGS; k++) {
		if (!t->leg[k])
			continue;
		emit_key(out, leg_name[k]);
		emit_column(out, t, k, what);
	}
	if (what == COLUMN_NS) {
		emit_key(out, "placement");
		emit_open(out, '[');
		for (int i = 0; i < t->n; i++)
			emit_int(out, t->placement[i]);
		emit_close(out, ']');
	}
	emit_close(out, '}');
}

void timing_emit(struct buf *out, const struct timing *t)
{
	if (t)
		emit_timing(out, t);
	else
		emit_knull(out, "timing");
	if (!t || !t->n) {
		emit_knull(out, "samples");
		emit_knull(out, "clocks");
		return;
	}
	emit_columns(out, "samples", t, COLUMN_NS);
	emit_key(out, "clocks");
	emit_open(out, '{');
	emit_columns(out, "sm_mhz", t, COLUMN_SM);
	emit_columns(out, "memory_mhz", t, COLUMN_MEMORY);
	emit_close(out, '}');
}
