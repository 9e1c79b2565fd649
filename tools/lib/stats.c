/* Small statistics, each named for what it is. */
#include "stats.h"
#include "die.h"
#include "rng.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Of ascending values. */
static double quantile_of_sorted(const double *x, size_t n, double q)
{
	double place = q * (double)(n - 1);
	size_t low = (size_t)place;

	if (low + 1 >= n || !(place > (double)low))
		return x[low];
	return x[low] + (place - (double)low) * (x[low + 1] - x[low]);
}

double stats_quantile(const double *x, size_t n, double q)
{
	double *sorted, result;

	for (size_t i = 0; i < n; i++)
		if (isnan(x[i]))
			return NAN;
	if (n == 0 || !(q >= 0 && q <= 1))
		return NAN;
	sorted = xmalloc(n * sizeof *sorted);
	memcpy(sorted, x, n * sizeof *sorted);
	qsort(sorted, n, sizeof *sorted, ascending);
	result = quantile_of_sorted(sorted, n, q);
	free(sorted);
	return result;
}

double stats_median(const double *x, size_t n)
{
	return stats_quantile(x, n, 0.5);
}

double stats_geomean(const double *x, size_t n)
{
	long double sum = 0;	/* over thousands of terms a double loses digits */

	for (size_t i = 0; i < n; i++) {
		if (!(x[i] > 0))
			return NAN;
		sum += log(x[i]);
	}
	return n ? exp((double)(sum / n)) : NAN;
}

double stats_mean(const double *x, size_t n)
{
	long double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += x[i];
	return n ? (double)(sum / n) : NAN;
}

double stats_normal_cdf(double z)
{
	return 0.5 * erfc(-z / sqrt(2));
}

double stats_normal_quantile(double p)
{
	double low = -40, high = 40;

	for (int i = 0; i < 100; i++) {
		double middle = (low + high) / 2;

		*(stats_normal_cdf(middle) < p ? &low : &high) = middle;
	}
	return (low + high) / 2;
}

/* The continued fraction of the incomplete beta function, by Lentz's method. */
static double beta_fraction(double a, double b, double x)
{
	const double tiny = 1e-300;
	double c = 1, d = 1 - (a + b) * x / (a + 1), f;

	d = 1 / (fabs(d) < tiny ? tiny : d);
	f = d;
	for (int m = 1; m < 500; m++) {
		double up = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double down = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)), step;

		d = 1 + up * d;
		c = 1 + up / c;
		d = 1 / (fabs(d) < tiny ? tiny : d);
		f *= d * c;
		d = 1 + down * d;
		c = 1 + down / c;
		d = 1 / (fabs(d) < tiny ? tiny : d);
		step = d * c;
		f *= step;
		if (fabs(step - 1) < 1e-15)
			break;
	}
	return f;
}

/* I_x(a, b); the fraction converges fast on one side of the mode, symmetry serves the other. */
static double incomplete_beta(double a, double b, double x)
{
	double front;

	if (x <= 0 || x >= 1)
		return x > 0;
	front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(a, b, x) / a;
	return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double stats_t_cdf(double t, double df)
{
	double tail;

	if (t * t < df)		/* where the other share would be rounded to 1 */
		tail = 0.5 - 0.5 * incomplete_beta(0.5, df / 2, t * t / (df + t * t));
	else
		tail = 0.5 * incomplete_beta(df / 2, 0.5, df / (df + t * t));
	return t > 0 ? 1 - tail : tail;
}

double stats_t_quantile(double p, double df)
{
	double low = -1, high = 1;

	while (stats_t_cdf(low, df) > p)
		low *= 2;
	while (stats_t_cdf(high, df) < p)
		high *= 2;
	for (int i = 0; i < 200 && high - low > 1e-13 * fabs(low); i++) {
		double middle = (low + high) / 2;

		*(stats_t_cdf(middle, df) < p ? &low : &high) = middle;
	}
	return (low + high) / 2;
}

void stats_bootstrap_mean(const double *x, size_t n, double level, uint64_t seed, double *low, double *high)
{
	enum { RESAMPLES = 10000 };
	struct rng rng = { seed };
	double *means, mean = stats_mean(x, n), tail = (1 - level) / 2, stretch;

	*low = *high = NAN;
	if (n < 2 || !isfinite(mean))
		return;
	means = xcalloc(RESAMPLES, sizeof *means);
	for (int b = 0; b < RESAMPLES; b++) {
		for (size_t i = 0; i < n; i++)
			means[b] += x[rng_below(&rng, (int)n)];
		means[b] /= (double)n;
	}
	qsort(means, RESAMPLES, sizeof *means, ascending);
	stretch = sqrt((double)n / (double)(n - 1)) * stats_t_quantile(tail, (double)n - 1) / stats_normal_quantile(tail);
	*low = mean + stretch * (quantile_of_sorted(means, RESAMPLES, tail) - mean);
	*high = mean + stretch * (quantile_of_sorted(means, RESAMPLES, 1 - tail) - mean);
	free(means);
}
