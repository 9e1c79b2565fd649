/* Small statistics. Every function names its statistic; NaN for no data. */
#ifndef STATS_H
#define STATS_H
#include <stddef.h>

double stats_median(const double *x, size_t n);		/* mean of the middle two for even n; x is not changed */
double stats_quantile(const double *x, size_t n, double q);	/* linear between order statistics (type 7) */
double stats_geomean(const double *x, size_t n);	/* exp(mean(log x)); NaN if any x <= 0 */
#endif
