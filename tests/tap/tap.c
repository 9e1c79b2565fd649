/* TAP for unit tests in C. */
#include "tap.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static int checks, failures;

static bool report(bool held, const char *name, va_list args)
{
	failures += !held;
	printf("%sok %d - ", held ? "" : "not ", ++checks);
	vprintf(name, args);
	printf("\n");
	fflush(stdout);	/* a crash in the next check must not lose this one */
	return held;
}

#define REPORT(held)                                \
	do {                                        \
		va_list args;                       \
		va_start(args, name);               \
		held_ = report((held), name, args); \
		va_end(args);                       \
	} while (0)

bool ok(bool condition, const char *name, ...)
{
	bool held_;

	REPORT(condition);
	return held_;
}

bool is_str(const char *got, const char *wanted, const char *name, ...)
{
	bool held_;

	REPORT(got && wanted ? !strcmp(got, wanted) : got == wanted);
	if (!held_)
		printf("#    got: %s\n# wanted: %s\n", got ? got : "(null)", wanted ? wanted : "(null)");
	return held_;
}

bool is_int(long long got, long long wanted, const char *name, ...)
{
	bool held_;

	REPORT(got == wanted);
	if (!held_)
		printf("#    got: %lld\n# wanted: %lld\n", got, wanted);
	return held_;
}

bool is_num(double got, double wanted, const char *name, ...)
{
	bool held_;

	REPORT(got == wanted || (isnan(got) && isnan(wanted)));
	if (!held_)
		printf("#    got: %.17g\n# wanted: %.17g\n", got, wanted);
	return held_;
}

int done_testing(void)
{
	printf("1..%d\n", checks);
	return failures > 0;
}
