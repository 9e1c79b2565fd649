/* Small statistics. Every function names its statistic; NaN for no data. */
#ifndef STATS_H
#define STATS_H
#include <stddef.h>
#include <stdint.h>

double stats_median(const double *x, size_t n);		/* mean of the middle two for even n; x is not changed */
double stats_quantile(const double *x, size_t n, double q);	/* linear between order statistics (type 7) */
double stats_geomean(const double *x, size_t n);	/* exp(mean(log x)); NaN if any x <= 0 */
double stats_mean(const double *x, size_t n);

double stats_normal_cdf(double z);
double stats_normal_quantile(double p);		/* its inverse, 0 < p < 1 */
double stats_t_cdf(double t, double df);	/* Student's, by the regularised incomplete beta function; df > 0 */
double stats_t_quantile(double p, double df);	/* its inverse, 0 < p < 1 */

/* An interval for the mean at the level (0.95), by bootstrap over x: the percentile interval, its ends moved away from the
 * mean as far as few values ask for. Resampling n of them understates the spread by sqrt((n - 1) / n), and the tails are
 * Student's, not the normal distribution's (Hesterberg 2015, "What teachers should know about the bootstrap"; widening
 * the percentiles instead, as is done there, ends at the outermost of the values, which of five is not enough).
 * The same seed gives the same interval. NaN for n < 2, and where a value is not finite. */
void stats_bootstrap_mean(const double *x, size_t n, double level, uint64_t seed, double *low, double *high);
#endif
