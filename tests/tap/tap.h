/* TAP for unit tests in C: each check prints one line; plan last. */
#ifndef TAP_H
#define TAP_H
#include <stdbool.h>

/* Checks that return whether they held; a failure shows what was got on stderr-like '#' lines. */
bool ok(bool condition, const char *name, ...) __attribute__((format(printf, 2, 3)));
bool is_str(const char *got, const char *wanted, const char *name, ...) __attribute__((format(printf, 3, 4)));
bool is_int(long long got, long long wanted, const char *name, ...) __attribute__((format(printf, 3, 4)));
/* Equal to the last bit; NaN equals NaN. */
bool is_num(double got, double wanted, const char *name, ...) __attribute__((format(printf, 3, 4)));
/* Prints the plan; the exit status for main. */
int done_testing(void);
#endif
