/* One workload after the other. */
#include "gpurun.h"
#include "progress.h"
#include "review.h"
#include "site.h"
#include <stdlib.h>

static void note_missing(struct site *s)
{
	struct result *r = &s->r;

	for (int k = LEG_BASELINE; k < LEGS; k++)
		if (!s->ready[k] && r->status == TIME_CORRECT)
			buf_addf(&r->message, "%s%s not timed: %s", r->message.len ? "; " : "", leg_name[k],
				 s->lacks[k].text);
}

static void say_result(const struct site *s)
{
	struct buf b = BUF_INIT;

	result_emit(&b, &s->r, &s->in);
	progress_say(s->rig->fd, PROGRESS_RESULT, b.data);
	buf_release(&b);
}

/* 0, or -1 when nothing more can be run in this process. */
static int run_workload(struct rig *rig, int i, struct review *v)
{
	const struct workload *w = rig->job->workloads[i];
	struct site *s = xcalloc(1, sizeof(*s));	/* large */
	bool lost;

	progress_say(rig->fd, PROGRESS_WORKLOAD, w->id);
	if (!site_open(s, rig, w) && rig->job->tolerance)
		site_figures(s);
	else if (s->r.status == TIME_CORRECT && !site_check(s))
		site_time(s);
	note_missing(s);
	say_result(s);
	review_keep(v, i, s);
	lost = site_lost(s);
	if (!lost)
		site_close(s);
	free(s);
	return lost ? -1 : 0;
}

static void say_phases(const struct rig *rig)
{
	struct buf b = BUF_INIT;

	phases_words(&rig->phases, &b);
	progress_say(rig->fd, PROGRESS_PHASES, b.data);
	buf_release(&b);
}

int gpurun(const struct job *job, int fd)
{
	struct rig *rig = xcalloc(1, sizeof(*rig));
	struct review v;

	if (rig_open(rig, job, fd))
		return 0;
	review_init(&v, rig);
	for (int i = 0; i < job->nworkloads && !run_workload(rig, i, &v); i++)
		;
	say_phases(rig);
	progress_say(fd, PROGRESS_END, "");
	review_run(&v);
	review_release(&v);
	return 0;
}
