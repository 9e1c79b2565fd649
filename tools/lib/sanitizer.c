/* compute-sanitizer: its command line, its report. */
#include "sanitizer.h"
#include "child.h"
#include "nvtool.h"
#include "utf8.h"
#include <stdlib.h>
#include <string.h>

#define MARGIN "========="

const char *const sanitizer_name[] = {
	[SANITIZER_NONE] = "none", [SANITIZER_MEMCHECK] = "memcheck", [SANITIZER_RACECHECK] = "racecheck",
	[SANITIZER_INITCHECK] = "initcheck", [SANITIZER_SYNCCHECK] = "synccheck",
};

enum sanitizer sanitizer_named(const char *name)
{
	for (int k = SANITIZER_MEMCHECK; k <= SANITIZER_SYNCCHECK; k++)
		if (!strcmp(name, sanitizer_name[k]))
			return (enum sanitizer)k;
	return SANITIZER_NONE;
}

bool sanitizer_proves(enum sanitizer tool)
{
	return tool == SANITIZER_MEMCHECK || tool == SANITIZER_SYNCCHECK;
}

void sanitizer_release(struct sanitizer_report *r)
{
	for (int i = 0; i < SANITIZER_LINES; i++)
		buf_release(&r->line[i]);
	*r = (struct sanitizer_report){ 0 };
}

/* ---- the report */

static bool contains(const char *p, size_t n, const char *what)
{
	return memmem(p, n, what, strlen(what)) != NULL;
}

/* "ERROR SUMMARY: 3 errors", "RACECHECK SUMMARY: 2 hazards displayed (1 error, 1 warning)": the number, or -1. A second
 * line about errors that were not printed is no count. */
static long long summary(const char *p, size_t n)
{
	const char *at = memmem(p, n, " SUMMARY: ", 10), *end = p + n;
	long long x = 0;

	if (!at || contains(p, n, "were not printed"))
		return -1;
	at += 10;
	if (at >= end || *at < '0' || *at > '9')
		return -1;
	for (; at < end && *at >= '0' && *at <= '9'; at++)
		if (x < 1000000000000LL)
			x = 10 * x + *at - '0';
	return x;
}

/* Frames of the host are ours. */
static bool worth_keeping(const char *p, size_t n)
{
	return n && !contains(p, n, "Host Frame") && !contains(p, n, "host backtrace") &&
	       !contains(p, n, "COMPUTE-SANITIZER") && !contains(p, n, "SUMMARY") &&
	       !contains(p, n, "Target application returned an error");
}

static void keep(struct sanitizer_report *r, const char *p, size_t n)
{
	if (r->lines < SANITIZER_LINES && worth_keeping(p, n))
		buf_add(&r->line[r->lines++], p, utf8_cut(p, n, SANITIZER_WIDTH));
}

/* A kernel can print a summary too; the tool's own is the last. */
int sanitizer_parse(const char *text, size_t n, struct sanitizer_report *r, struct err *e)
{
	const char *end = text + n, *nl;
	bool summed = false;

	*r = (struct sanitizer_report){ 0 };
	for (; text < end; text = nl + 1) {
		size_t len, margin = strlen(MARGIN);
		long long count;

		nl = memchr(text, '\n', (size_t)(end - text));
		if (!nl)
			nl = end;
		len = (size_t)(nl - text);
		if (len < margin || memcmp(text, MARGIN, margin))
			continue;	/* the program's own words */
		len -= margin;
		text += margin;
		for (; len && *text == ' '; text++)
			len--;
		count = summary(text, len);
		if (count >= 0) {
			r->findings = count;
			summed = true;
		}
		keep(r, text, len);
	}
	return summed ? 0 : err_set(e, "compute-sanitizer made no summary");
}

/* ---- running it */

enum { OUTPUT = 16 << 20 };

static void command(enum sanitizer tool, const char *path, char *const *program, struct argv *a)
{
	argv_add(a, path);
	argv_add(a, "--tool");
	argv_add(a, sanitizer_name[tool]);
	argv_add(a, "--show-backtrace");	/* of the host, which is ours */
	argv_add(a, "no");
	argv_add(a, "--print-limit");
	argv_add(a, "20");
	if (tool == SANITIZER_MEMCHECK) {
		argv_add(a, "--report-api-errors");	/* we ask the driver what it may not know */
		argv_add(a, "no");
		argv_add(a, "--padding");	/* a neighbour's memory is no less out of bounds */
		argv_add(a, "1024");
	}
	for (; *program; program++)
		argv_add(a, *program);
}

static int read_answer(const struct child_result *r, double seconds, struct sanitizer_report *report, struct err *e)
{
	const char *said = r->err.len ? r->err.data : "";

	if (r->end == CHILD_TIMEOUT)
		return err_set(e, "compute-sanitizer took longer than %g s", seconds);
	if (r->truncated)
		return err_set(e, "compute-sanitizer's report is too long");
	if (sanitizer_parse(r->out.len ? r->out.data : "", r->out.len, report, e)) {
		if (*said)
			err_set(e, "compute-sanitizer: %.*s", (int)strcspn(said, "\n"), said);
		return -1;
	}
	if (!report->findings && (r->end != CHILD_EXITED || r->code))
		return err_set(e, "under compute-sanitizer the run failed (%s %d): %.*s", child_end_name[r->end], r->code,
			       (int)strcspn(said, "\n"), said);
	return 0;
}

int sanitizer_run(enum sanitizer tool, char *const *program, double seconds, struct sanitizer_report *report,
		  struct err *e)
{
	char *path = nvtool_find(NVTOOL_SANITIZER, e);
	struct argv argv = { 0 };
	struct child child = { .timeout = seconds, .max_output = OUTPUT };
	struct child_result r = { .end = CHILD_NOT_STARTED };
	int rc;

	*report = (struct sanitizer_report){ 0 };
	if (!path)
		return -1;
	command(tool, path, program, &argv);
	child.argv = argv.v;
	rc = child_run(&child, &r, e) || read_answer(&r, seconds, report, e) ? -1 : 0;
	child_result_release(&r);
	argv_release(&argv);
	free(path);
	return rc;
}
