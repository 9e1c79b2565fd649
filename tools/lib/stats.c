/* Small statistics, each named for what it is. */
#include "stats.h"
#include "die.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double stats_quantile(const double *x, size_t n, double q)
{
	double *sorted, place, result;
	size_t low;

	for (size_t i = 0; i < n; i++)
		if (isnan(x[i]))
			return NAN;
	if (n == 0 || !(q >= 0 && q <= 1))
		return NAN;
	sorted = xmalloc(n * sizeof *sorted);
	memcpy(sorted, x, n * sizeof *sorted);
	qsort(sorted, n, sizeof *sorted, ascending);
	place = q * (double)(n - 1);
	low = (size_t)place;
	result = sorted[low];
	if (low + 1 < n && place > (double)low)
		result += (place - (double)low) * (sorted[low + 1] - sorted[low]);
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
