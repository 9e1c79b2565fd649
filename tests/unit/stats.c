/* Statistics: against SciPy 1.17.1 (stats.t.ppf, stats.t.cdf, stats.norm.cdf, stats.gmean) and NumPy 2 (quantile), and
 * the bootstrap's intervals against their own definition and by how often they hold what they should. */
#include "../tap/tap.h"
#include "rng.h"
#include "stats.h"
#include <math.h>
#include <stddef.h>

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

/* Relative, and absolute near 0. */
static bool near(double got, double wanted, double slack)
{
	return fabs(got - wanted) <= slack * fmax(fabs(wanted), 1e-3);
}

static void test_t(void)
{
	static const struct { double p, df, t; } quantile[] = {
		{ 0.025, 1, -12.7062047361747 }, { 0.025, 2, -4.30265272974946 }, { 0.025, 4.5, -2.6589123472044 },
		{ 0.025, 7, -2.36462425159278 }, { 0.025, 19, -2.09302405440831 }, { 0.025, 1000, -1.96233908082641 },
		{ 0.005, 3, -5.84090930973336 }, { 0.1, 100, -1.29007476134652 }, { 0.5, 7, 0 },
		{ 0.6, 1, 0.324919696232906 }, { 0.975, 7, 2.36462425159278 }, { 0.9995, 19, 3.88340585259213 },
		{ 1e-6, 2, -707.105720525934 }, { 1e-6, 19, -6.72339428220019 },
	};
	static const struct { double t, df, p; } cdf[] = {
		{ -4.3, 2, 0.0250285770585458 }, { -1, 1, 0.25 }, { 0, 3, 0.5 }, { 0.7, 4.5, 0.740780198844191 },
		{ 2, 7, 0.957190335718512 }, { 5, 4, 0.996254783059363 }, { -12, 30, 2.79009270759963e-13 },
		{ 1e-9, 5, 0.500000000379607 }, { 40, 3, 0.999982809659605 },
	};

	for (size_t i = 0; i < COUNT(quantile); i++)
		ok(near(stats_t_quantile(quantile[i].p, quantile[i].df), quantile[i].t, 1e-9),
		   "t of %g with %g degrees of freedom: %.15g", quantile[i].p, quantile[i].df,
		   stats_t_quantile(quantile[i].p, quantile[i].df));
	for (size_t i = 0; i < COUNT(cdf); i++)
		ok(fabs(stats_t_cdf(cdf[i].t, cdf[i].df) / cdf[i].p - 1) < 1e-9, "P(t < %g) with %g degrees: %.15g",
		   cdf[i].t, cdf[i].df, stats_t_cdf(cdf[i].t, cdf[i].df));
}

static void test_normal(void)
{
	static const struct { double z, p; } cdf[] = {
		{ -8, 6.22096057427174e-16 }, { -3.5, 0.000232629079035525 }, { -1.959963984540054, 0.025 },
		{ -0.1, 0.460172162722971 }, { 0, 0.5 }, { 0.5, 0.6914624612740131 }, { 3, 0.9986501019683699 },
	};

	for (size_t i = 0; i < COUNT(cdf); i++)
		ok(fabs(stats_normal_cdf(cdf[i].z) / cdf[i].p - 1) < 1e-9 &&
		   near(stats_normal_quantile(cdf[i].p), cdf[i].z, 1e-9), "P(z < %g): %.15g, and back: %.15g", cdf[i].z,
		   stats_normal_cdf(cdf[i].z), stats_normal_quantile(cdf[i].p));
}

static void test_simple(void)
{
	static const double x[] = { 3, 1, 4, 1, 5, 9, 2, 6 }, five[] = { 1.5, 2.25, 0.5, 13.04, 1.01 },
		far[] = { 1e-300, 1e300, 4 }, zero[] = { 1, 0, 2 }, below[] = { 1, -1, 2 }, none[] = { 1, NAN, 2 };

	ok(near(stats_quantile(x, 8, 0.3333), 2.3331, 1e-12) && near(stats_quantile(x, 8, 0.9), 6.9, 1e-12) &&
	   stats_quantile(x, 8, 0.05) == 1, "quantiles between values");
	ok(near(stats_geomean(five, 5), 1.8593816872010103, 1e-14), "a geometric mean");
	ok(near(stats_geomean(far, 3), 1.5874010519681994, 1e-12), "of numbers far apart");
	ok(isnan(stats_geomean(zero, 3)) && isnan(stats_geomean(below, 3)) && isnan(stats_geomean(none, 3)),
	   "none with a zero, a negative or an unknown in it");
	ok(isnan(stats_median(none, 3)) && isnan(stats_mean(none, 3)), "nor a median or mean with an unknown");
	ok(isnan(stats_mean(x, 0)) && isnan(stats_quantile(x, 8, 1.01)) && isnan(stats_quantile(x, 8, -0.01)) &&
	   isnan(stats_quantile(x, 8, NAN)), "nothing from no data, nor for what is no share");
	is_num(stats_mean(x, 8), 3.875, "a mean");
}

/* ---- the bootstrap */

/* The interval's ends, from four million resamples by NumPy of the same definition. */
static void test_bootstrap(void)
{
	static const double x[] = { 0.011, -0.004, 0.007, 0.002, 0.0135, -0.001, 0.005, 0.009 };
	static const double equal[] = { 2, 2, 2, 2, 2 }, none[] = { 1, NAN, 2 };
	static const struct { size_t n; double level, low, high, slack; } wanted[] = {
		/* the ends wander from draw to draw by about a fiftieth of the width */
		{ 8, 0.95, 0.000234, 0.01023, 0.0006 }, { 8, 0.8, 0.002288, 0.008337, 0.0004 },
		{ 5, 0.95, -0.003128, 0.014294, 0.0012 },
	};
	double low, high, again[2];

	for (size_t i = 0; i < COUNT(wanted); i++) {
		stats_bootstrap_mean(x, wanted[i].n, wanted[i].level, 7, &low, &high);
		ok(fabs(low - wanted[i].low) < wanted[i].slack && fabs(high - wanted[i].high) < wanted[i].slack,
		   "the %g %% interval of %zu values: %g to %g", 100 * wanted[i].level, wanted[i].n, low, high);
	}
	stats_bootstrap_mean(x, 8, 0.95, 11, &low, &high);
	stats_bootstrap_mean(x, 8, 0.95, 11, &again[0], &again[1]);
	ok(low == again[0] && high == again[1], "the same seed, the same interval");
	stats_bootstrap_mean(equal, 5, 0.95, 1, &low, &high);
	ok(low == 2 && high == 2, "of equal values there is but one mean");
	stats_bootstrap_mean(x, 1, 0.95, 1, &low, &high);
	ok(isnan(low) && isnan(high), "one value has no interval");
	stats_bootstrap_mean(x, 0, 0.95, 1, &low, &high);
	ok(isnan(low) && isnan(high), "nor have none");
	stats_bootstrap_mean(none, 3, 0.95, 1, &low, &high);
	ok(isnan(low) && isnan(high), "nor values of which one is unknown");
}

static double uniform(struct rng *r)
{
	return ((double)(rng_next(r) >> 11) + 0.5) * 0x1p-53;
}

static double normal(struct rng *r)
{
	double radius = sqrt(-2 * log(uniform(r)));

	return radius * cos(2 * acos(-1) * uniform(r));
}

/* Most places alike and some slower, as placements are. */
static double skewed(struct rng *r)
{
	return -log(uniform(r)) - 1;
}

/* Share of experiments, each of n values whose mean is 0, in which the interval holds 0. */
static double coverage(double (*draw)(struct rng *), size_t n, int experiments)
{
	struct rng r = { 20 };
	double x[32], low, high;
	int held = 0;

	for (int i = 0; i < experiments; i++) {
		for (size_t k = 0; k < n; k++)
			x[k] = draw(&r);
		stats_bootstrap_mean(x, n, 0.95, rng_next(&r), &low, &high);
		held += low <= 0 && high >= 0;
	}
	return (double)held / experiments;
}

static void test_coverage(void)
{
	static const size_t n[] = { 5, 8, 20 };

	for (size_t i = 0; i < COUNT(n); i++) {
		double share = coverage(normal, n[i], 700);

		ok(share > 0.92 && share < 0.98, "95 %% intervals of %zu placements hold the truth in %.1f %%", n[i],
		   100 * share);
	}
	ok(coverage(skewed, 20, 200) > 0.88, "and not much less often when placements are skewed");
}

int main(void)
{
	test_t();
	test_normal();
	test_simple();
	test_bootstrap();
	test_coverage();
	return done_testing();
}
