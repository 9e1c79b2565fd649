/* What follows from the blocks of a workload: times, ratios, intervals, verdicts, and their JSON. */
#include "../tap/tap.h"
#include "emit.h"
#include "json.h"
#include "timing.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A round: nanoseconds of the blocks of candidate, baseline and expert. */
struct round {
	int placement;
	long long candidate, baseline, expert;
};

/* Large: freed by the caller. Without an expert where the rounds say 0 for it. */
static struct timing *timing_of(const struct round *r, int n, int calls)
{
	struct timing *t = calloc(1, sizeof(*t));

	t->leg[LEG_CANDIDATE] = t->leg[LEG_BASELINE] = true;
	t->leg[LEG_EXPERT] = n && r[0].expert;
	t->calls = calls;
	for (int i = 0; i < n; i++) {
		const long long ns[LEGS] = { [LEG_CANDIDATE] = r[i].candidate, [LEG_BASELINE] = r[i].baseline,
					     [LEG_EXPERT] = r[i].expert };

		for (int k = 0; k < LEGS; k++)
			t->block[i][k] = (struct block){ ns[k], 1980, -1 };
		t->placement[i] = r[i].placement;
	}
	t->n = n;
	return t;
}

static bool near(double got, double wanted)
{
	return fabs(got / wanted - 1) < 1e-12;
}

static void test_ratio(void)
{
	/* medians of the placements: 2, 8 and 4; in the second, rounds were dropped, and the third has an even number */
	static const struct round r[] = {
		{ 0, 100, 200, 100 }, { 0, 100, 150, 100 }, { 0, 100, 900, 100 }, { 1, 100, 800, 50 },
		{ 2, 100, 200, 100 }, { 2, 100, 800, 100 },
	};
	struct timing *t = timing_of(r, 6, 10);
	struct ratio a = timing_ratio(t, LEG_BASELINE, LEG_CANDIDATE, 1), b;

	is_num(timing_ns(t, LEG_CANDIDATE), 10, "a call's time");
	is_num(timing_ns(t, LEG_BASELINE), 50, "the median over all blocks");
	ok(near(a.value, 4), "a ratio: the geometric mean of the placements' medians, however many rounds each has: %.17g",
	   a.value);
	ok(a.low > 0 && a.low < 4 && a.high > 4, "within its interval: %g to %g", a.low, a.high);
	b = timing_ratio(t, LEG_BASELINE, LEG_CANDIDATE, 1);
	ok(a.low == b.low && a.high == b.high, "which the seed determines");
	b = timing_ratio(t, LEG_CANDIDATE, LEG_BASELINE, 1);
	ok(near(b.value, 0.25), "the other way round");
	ok(near(timing_ratio(t, LEG_EXPERT, LEG_CANDIDATE, 1).value, cbrt(0.5)), "the expert's");
	ok(near(timing_half_width(&a), (a.high - a.low) / 2 / a.value), "half an interval's width");
	free(t);
}

/* Placements whose medians agree to the last digit, of rounds that do not. */
static void test_noise(void)
{
	static const double spread[] = { -0.02, -0.01, 0, 0.01, 0.02 };
	struct round r[40];
	struct timing *t;
	struct ratio a;
	double wanted;

	for (int i = 0; i < 40; i++)
		r[i] = (struct round){ i / 5, 1000000000, llrint(1e9 * exp(spread[i * 2 % 5])), 0 };
	t = timing_of(r, 40, 1);
	a = timing_ratio(t, LEG_BASELINE, LEG_CANDIDATE, 1);
	/* R: qt(0.975, 32) * sqrt(pi / 2 * 8 * sum(((-2:2) / 100)^2) / 32 / 40) */
	wanted = 0.00638229339 + TIMING_GRAIN;
	ok(near(a.value, 1), "placements that agree");
	ok(fabs(log(a.high) / wanted - 1) < 1e-6 && fabs(log(a.low) / wanted + 1) < 1e-6,
	   "have an interval as wide as the noise of their rounds: %.9f, %.9f", log(a.low), log(a.high));
	free(t);
	for (int i = 0; i < 40; i++)
		r[i].baseline = i / 5 % 2 ? 2000000000 : 500000000;
	t = timing_of(r, 40, 1);
	a = timing_ratio(t, LEG_BASELINE, LEG_CANDIDATE, 1);
	ok(a.high > 1.5 && a.low < 0.67, "rounds that agree make placements that do not no better: %g to %g", a.low, a.high);
	free(t);
}

static void is_unknown(struct timing *t, const char *name)
{
	struct ratio r = timing_ratio(t, LEG_BASELINE, LEG_CANDIDATE, 1);

	ok(isnan(r.value) && isnan(r.low) && isnan(r.high) && isnan(timing_half_width(&r)) && !timing_verdict(&r),
	   "%s: no ratio, no interval, no verdict", name);
	free(t);
}

static void test_missing(void)
{
	static const struct round one[] = { { 0, 100, 200, 0 }, { 0, 100, 200, 0 } };
	static const struct round zero[] = { { 0, 100, 200, 0 }, { 1, 0, 200, 0 }, { 2, 100, 200, 0 } };
	static const struct round zeros[] = { { 0, 0, 0, 0 }, { 1, 0, 0, 0 }, { 2, 0, 0, 0 } };
	static const struct round none[] = { { 0, 100, 0, 0 }, { 1, 100, 0, 0 }, { 2, 100, 0, 0 } };
	struct timing *t = timing_of(one, 2, 1);
	struct ratio r = timing_ratio(t, LEG_BASELINE, LEG_CANDIDATE, 1);

	ok(near(r.value, 2) && isnan(r.low) && isnan(r.high), "one placement has a ratio, and no interval");
	ok(isnan(timing_half_width(&r)) && !timing_verdict(&r), "nor a verdict");
	ok(isnan(timing_ns(t, LEG_EXPERT)) && isnan(timing_ratio(t, LEG_EXPERT, LEG_CANDIDATE, 1).value),
	   "a leg that was not measured has no figures");
	free(t);
	t = timing_of(one, 0, 1);
	ok(isnan(timing_ns(t, LEG_CANDIDATE)), "no rounds, no time");
	is_unknown(t, "no rounds");
	is_unknown(timing_of(zero, 3, 1), "a block of no time");
	is_unknown(timing_of(zeros, 3, 1), "blocks of no time");
	is_unknown(timing_of(none, 3, 1), "a baseline of no time");
}

static void test_verdicts(void)
{
	static const struct { double low, high; const char *verdict; } wanted[] = {
		{ 1 + 1.01 * TIMING_RESOLUTION, 1.1, "faster" }, { 1 + 0.99 * TIMING_RESOLUTION, 1.1, "same" },
		{ 0.9, 1 - 1.01 * TIMING_RESOLUTION, "slower" }, { 0.9, 1 - 0.99 * TIMING_RESOLUTION, "same" },
		{ 1.0001, 1.0002, "same" }, { 0.5, 2, "same" }, { 13, 14, "faster" }, { 0.01, 0.02, "slower" },
		{ 1, 1, "same" }, { 1 + TIMING_RESOLUTION, 1.1, "same" }, { 0.9, 1 - TIMING_RESOLUTION, "same" },
	};

	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		const struct ratio r = { 1, wanted[i].low, wanted[i].high };

		is_str(timing_verdict(&r), wanted[i].verdict, "%g to %g: %s", r.low, r.high, wanted[i].verdict);
	}
}

/* Eight placements of six rounds: each placement's bias, and what each round adds to it. */
static bool suffice(double bias, double noise, int placements, double precision)
{
	struct round r[48];
	struct timing *t;
	bool answer;

	for (int i = 0; i < 48; i++)
		r[i] = (struct round){ i / 6, 1000000, llrint(1e6 * (1 + bias * (i / 6 % 2) + noise * (i * 5 % 6 - 2.5))), 0 };
	t = timing_of(r, 6 * placements, 1);
	t->precision = precision;
	answer = timing_rounds_suffice(t, 3);
	free(t);
	return answer;
}

static void test_placements(void)
{
	ok(suffice(0.01, 0.0001, 8, 0), "placements that differ by more than their rounds");
	ok(!suffice(0.0001, 0.01, 8, 0), "and by less");
	ok(!suffice(0, 0, 8, 0), "and not at all");
	ok(!suffice(0.01, 0.0001, 7, 0), "of seven it cannot be said");
	ok(suffice(0.01, 0.0001, 7, 0.005), "unless rounds are known well enough for the precision asked for");
	ok(suffice(0, 0.0001, 2, 0.005), "which two can tell");
	ok(!suffice(0, 0.0001, 1, 0.005), "but not one");
	ok(!suffice(0, 0.001, 2, 0.0005), "nor when rounds differ by more");
	ok(!suffice(0.01, 0.0001, 0, 0.005), "nor none");
}

/* ---- JSON */

static struct json *emitted(const struct timing *t, const char *name)
{
	struct buf b = BUF_INIT;
	struct err e = { "" };
	struct json *j;

	emit_open(&b, '{');
	timing_emit(&b, t);
	emit_close(&b, '}');
	j = json_parse(b.data, b.len, &e);
	ok(j != NULL, "%s: JSON%s", name, e.text);
	buf_release(&b);
	return j;
}

static int length(const struct json *array)
{
	int n = 0;

	for (const struct json *x = json_first(array); x; x = json_next(x))
		n++;
	return n;
}

static void test_emit(void)
{
	static const struct round r[] = { { 0, 100, 200, 0 }, { 0, 101, 201, 0 }, { 3, 102, 202, 0 } };
	struct timing *t = timing_of(r, 3, 7);
	const struct json *samples, *clocks;
	struct json *j;

	t->placements = 4;
	t->dropped = 21;
	t->temperature = t->power_mw = -1;
	t->ended_by = "max_time";
	j = emitted(t, "a timing");
	samples = json_get(j, "samples");
	clocks = json_get(j, "clocks");
	is_int(json_get_int(json_get(j, "timing"), "rounds", -1), 3, "its rounds");
	is_int(json_get_int(json_get(j, "timing"), "dropped", -1), 21, "those dropped");
	ok(length(json_get(samples, "candidate")) == 3 && length(json_get(samples, "baseline")) == 3 &&
	   length(json_get(samples, "placement")) == 3, "a sample of each leg and a placement for each");
	ok(!json_get(samples, "expert"), "none of a leg that was not measured");
	is_num(json_num(json_first(json_get(samples, "candidate")), -1), 100, "in whole nanoseconds");
	is_num(json_num(json_first(json_get(json_get(clocks, "sm_mhz"), "candidate")), -1), 1980, "clocks");
	ok(isnan(json_num(json_first(json_get(json_get(clocks, "memory_mhz"), "candidate")), NAN)), "null where not known");
	json_free(j);
	t->n = 0;
	j = emitted(t, "none left");
	ok(isnan(json_num(json_get(j, "samples"), NAN)) && !json_first(json_get(j, "samples")) &&
	   !json_first(json_get(j, "clocks")), "no samples and no clocks");
	is_int(json_get_int(json_get(j, "timing"), "dropped", -1), 21, "but what was dropped");
	json_free(j);
	j = emitted(NULL, "not timed");
	ok(!json_first(json_get(j, "timing")) && !json_first(json_get(j, "samples")), "nothing");
	json_free(j);
	free(t);
}

int main(void)
{
	test_ratio();
	test_noise();
	test_missing();
	test_verdicts();
	test_placements();
	test_emit();
	return done_testing();
}
