/* compute-sanitizer, which watches every access of a program's kernels: what it is asked and what it says. Its report
 * is taken for hostile, as is everything near a kernel. */
#ifndef SANITIZER_H
#define SANITIZER_H
#include "buf.h"
#include "die.h"
#include <stdbool.h>

enum sanitizer { SANITIZER_NONE, SANITIZER_MEMCHECK, SANITIZER_RACECHECK, SANITIZER_INITCHECK, SANITIZER_SYNCCHECK };
extern const char *const sanitizer_name[];

/* SANITIZER_NONE when there is no such tool. */
enum sanitizer sanitizer_named(const char *name);
/* Whether what the tool finds is wrong beyond doubt. memcheck and synccheck see errors as they happen. racecheck does
 * not know every way of synchronising, and initcheck finds reads whose value is thrown away. */
bool sanitizer_proves(enum sanitizer tool);

enum { SANITIZER_LINES = 24, SANITIZER_WIDTH = 200 };

struct sanitizer_report {
	long long findings;
	int lines;
	struct buf line[SANITIZER_LINES];	/* of the report, without its margin and host frames; cut at WIDTH bytes */
};

/* Reads a report. 0, or -1 when it has no summary. */
int sanitizer_parse(const char *text, size_t n, struct sanitizer_report *r, struct err *e);
/* Runs a program (its NULL-terminated arguments) under the tool, for at most so many seconds. 0, or -1 when nothing is
 * known: no tool, no report, or the program failed and no finding says why. */
int sanitizer_run(enum sanitizer tool, char *const *program, double seconds, struct sanitizer_report *r, struct err *e);
void sanitizer_release(struct sanitizer_report *r);
#endif
