/* Workers for a record. */
#include "work.h"
#include "cpurun.h"
#include "gpurun.h"
#include "progress.h"
#include "worker.h"
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define TIMING_SLACK 1.25	/* the last placement is still run to its end */

static int gpu_job(int i, int fd, void *ctx)
{
	(void)i;
	return gpurun(&((struct work *)ctx)->subject->job, fd);
}

static int cpu_job(int i, int fd, void *ctx)
{
	const struct subject *s = ((struct work *)ctx)->subject;

	return cpurun(&s->job, s->source, i, fd);
}

static void take_line(int i, const char *line, void *ctx)
{
	struct work *w = ctx;

	(void)i;
	if (*line == PROGRESS_WAITS)
		warn("waiting for %s", line[1] ? line + 2 : "a GPU");
	if (*line == PROGRESS_PEAKS)
		warn("measuring what the GPU can do at most, once");
	outcome_line(w->outcome, line);
}

/* By what it did itself; SIGKILL comes from outside. */
static bool crashed(const struct worker_result *r)
{
	static const int own[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP };

	for (size_t i = 0; r->end == CHILD_SIGNALED && i < sizeof(own) / sizeof(*own); i++)
		if (r->code == own[i])
			return true;
	return false;
}

/* Seconds for one worker. Its timing is not what it should be given up for. */
static double limit(const struct work *w)
{
	const struct job *j = &w->subject->job;

	return w->timeout + (w->cpu || j->tolerance ? 0 : TIMING_SLACK * j->max_time * j->nworkloads);
}

/* Late by the candidate's doing, or by that of all else together. On the CPU only the candidate takes long. */
static enum time_status late(struct work *w, char *why, size_t n)
{
	double seconds, most = limit(w);
	int who = w->cpu ? LEG_CANDIDATE : outcome_busiest(w->outcome, &seconds);

	if (who == LEG_CANDIDATE) {
		snprintf(why, n, "not done after %g s", most);
		return TIME_TIMEOUT;
	}
	snprintf(why, n, "not done after %g s, of which %.3g s went into %s%s", most, seconds,
		 who == ACTOR_TOOL ? "" : "the task's own ", who == ACTOR_TOOL ? "d2k-time itself" : actor_name(who));
	return TIME_TOOL_ERROR;
}

/* What is to be said of a workload (i < 0: of all) whose worker went away without a word about it. */
static void close_worker(struct work *w, int i, struct worker_result *r)
{
	enum time_status status = TIME_TOOL_ERROR;
	char why[128];

	if (r->end == CHILD_TIMEOUT) {
		status = late(w, why, sizeof(why));
	} else if (crashed(r) && w->outcome->actor == LEG_CANDIDATE) {
		status = TIME_FAULT;
		snprintf(why, sizeof(why), "the process that loaded or launched it died (signal %d)", r->code);
	} else {
		snprintf(why, sizeof(why), "its process ended early (%s %d)", child_end_name[r->end], r->code);
	}
	outcome_close(w->outcome, i, status, why);
	w->seconds = fmax(w->seconds, r->seconds);	/* fmax ignores a NaN */
}

static int run(struct work *w, struct workers *pool, struct err *e)
{
	struct worker_result *r = xcalloc((size_t)pool->n, sizeof(*r));
	int rc;

	pool->timeout = limit(w);
	pool->line = take_line;
	pool->ctx = w;
	rc = workers_run(pool, r, e);
	for (int i = 0; i < pool->n; i++) {
		if (!rc)
			close_worker(w, w->cpu ? i : -1, &r[i]);
		worker_result_release(&r[i]);
	}
	free(r);
	return rc;
}

int work_run(struct work *w, struct err *e)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	int n = w->subject->job.nworkloads;
	struct workers gpu = { .n = 1, .width = 1, .start_mark = PROGRESS_STARTS, .job = gpu_job };
	struct workers cpu = { .n = n, .width = cores < 1 ? 1 : cores < n ? (int)cores : n, .job = cpu_job };

	w->seconds = NAN;
	if (!w->cpu)
		return run(w, &gpu, e);
	if (!cpurun_prepare(&w->subject->task, e))
		return run(w, &cpu, e);
	w->outcome->status = TIME_TOOL_ERROR;
	buf_addstr(&w->outcome->reason, e->text);
	return 0;
}
