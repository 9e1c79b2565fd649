/* Profiles and the sanitizer, on a GPU and without. */
#include "review.h"
#include "clock.h"
#include "emit.h"
#include "encore.h"
#include "progress.h"
#include "sanitizer.h"
#include "site_profile.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PROFILE_SECONDS 60.0	/* for one workload, without ncu */
#define NCU_SECONDS 120.0	/* for one workload */
#define SANITIZER_SECONDS 300.0	/* for all workloads that it looks at */

double review_seconds(const struct job *job)
{
	return (job->profile ? job->nworkloads * (PROFILE_SECONDS + NCU_SECONDS) : 0) +
	       (job->sanitizer ? SANITIZER_SECONDS : 0);
}

void review_init(struct review *v, struct rig *rig)
{
	*v = (struct review){ .rig = rig };
	v->timed = xcalloc((size_t)rig->job->nworkloads + 1, sizeof(*v->timed));
}

void review_release(struct review *v)
{
	for (int i = 0; i < v->rig->job->nworkloads; i++)
		free(v->timed[i].chosen);
	free(v->timed);
}

void review_keep(struct review *v, int i, const struct site *s)
{
	const struct replay *r = &s->replay[LEG_CANDIDATE];

	v->hangs = v->hangs || s->hangs;
	if (s->r.status != TIME_CORRECT || !r->plan)
		return;
	v->timed[i].ns = s->r.ns[LEG_CANDIDATE];
	v->timed[i].chosen = xcalloc((size_t)r->plan->nsteps + 1, sizeof(*v->timed[i].chosen));
	memcpy(v->timed[i].chosen, r->chosen, (size_t)r->plan->nsteps * sizeof(*r->chosen));
}

/* ---- profiles */

static struct encore_job encore_of(const struct review *v, const struct workload *w, const int *chosen)
{
	const struct rig *rig = v->rig;
	const struct plan *plan = bundle_plan(&rig->bundle[LEG_CANDIDATE], w->id);

	return (struct encore_job){ .task = rig->job->task->name, .workload = w->id, .uuid = rig->info.uuid,
				    .bundle = &rig->job->bundle[LEG_CANDIDATE], .chosen = chosen,
				    .steps = plan ? plan->nsteps : 0, .seed = job_fresh_seed(rig->job) };
}

static void count(const struct review *v, const struct workload *w, const int *chosen, struct profile *p)
{
	const struct encore_job job = encore_of(v, w, chosen);
	struct counters *c = xcalloc(COUNTERS_LAUNCHES, sizeof(*c));
	struct encore x;
	int n = encore_open(&x, &job, &p->no_counters);

	if (!n)
		n = counters_take(x.argv, NCU_SECONDS, c, &p->no_counters);
	if (n > 0)
		profile_count(p, c, n);
	encore_release(&x);
	free(c);
}

/* PROGRESS_PROFILE's text. */
static void say_profile(const struct review *v, const char *id, const struct profile *p)
{
	struct buf object = BUF_INIT;
	char *text;

	profile_emit(&object, p);
	text = xasprintf("%s %s", id, object.data);
	progress_say(v->rig->fd, PROGRESS_PROFILE, text);
	free(text);
	buf_release(&object);
}

static void profile(struct review *v, const struct workload *w, const struct timed *t)
{
	struct site *s = xcalloc(1, sizeof(*s));	/* large */
	struct profile p;
	bool opened = !site_open(s, v->rig, w), lost;

	if (opened)
		site_profile(s, t->chosen, t->ns, &p);
	lost = site_lost(s);
	if (!lost)
		site_close(s);	/* ncu's process needs the memory */
	free(s);
	if (!opened)
		return;
	if (!lost)
		count(v, w, t->chosen, &p);
	say_profile(v, w->id, &p);
	profile_release(&p);
}

/* ---- the sanitizer */

/* Looks at one workload until the clock says `end`. Whether something was found, or nothing can be. */
static bool watch(const struct review *v, const struct workload *w, const int *chosen, double end,
		  struct sanitizer_report *r, struct err *e)
{
	const struct encore_job job = encore_of(v, w, chosen);
	struct encore x;
	int rc = encore_open(&x, &job, e);

	if (!rc)
		rc = sanitizer_run(v->rig->job->sanitizer, x.argv, fmax(end - clock_now(), 1), r, e);
	encore_release(&x);
	return rc || r->findings;
}

/* {"tool","workloads":[..],"findings","lines":[..],"why_not"} */
static void say_watched(const struct review *v, const struct buf *ids, const struct sanitizer_report *r,
			const struct err *e)
{
	struct buf b = BUF_INIT;

	emit_open(&b, '{');
	emit_kstr(&b, "tool", sanitizer_name[v->rig->job->sanitizer]);
	emit_kraw(&b, "workloads", ids->data, ids->len);
	if (*e->text)
		emit_knull(&b, "findings");
	else
		emit_kint(&b, "findings", r->findings);
	emit_key(&b, "lines");
	emit_open(&b, '[');
	for (int i = 0; i < r->lines; i++)
		emit_strn(&b, r->line[i].data, r->line[i].len);
	emit_close(&b, ']');
	emit_kstr(&b, "why_not", *e->text ? e->text : NULL);
	emit_close(&b, '}');
	progress_say(v->rig->fd, PROGRESS_SANITIZER, b.data);
	buf_release(&b);
}

/* The task's smoke workloads, where the bundle has plans for them: the tools are slow, and what a kernel does out of
 * bounds or out of order it does on small sizes too. Else the first workload of the job. */
static void sanitize(struct review *v)
{
	const struct job *job = v->rig->job;
	struct sanitizer_report r = { 0 };
	struct workload *all = NULL;
	struct buf ids = BUF_INIT;
	struct err e = { "" };
	double end = clock_now() + SANITIZER_SECONDS;
	bool over = v->hangs;
	int n = 0, looked = 0;

	if (over)
		err_set(&e, "a kernel hangs, and nothing else can run");
	else if (workloads_load(job->task, &all, &n, &e))
		over = true;
	emit_open(&ids, '[');
	for (int i = 0; i < n && !over; i++)
		if (!strcmp(all[i].tier, "smoke") && bundle_plan(&v->rig->bundle[LEG_CANDIDATE], all[i].id)) {
			emit_str(&ids, all[i].id);
			looked++;
			over = watch(v, &all[i], NULL, end, &r, &e);
		}
	if (!looked && !over) {
		emit_str(&ids, job->workloads[0]->id);
		watch(v, job->workloads[0], v->timed[0].chosen, end, &r, &e);
	}
	emit_close(&ids, ']');
	say_watched(v, &ids, &r, &e);
	sanitizer_release(&r);
	workloads_free(all, n);
	buf_release(&ids);
}

void review_run(struct review *v)
{
	const struct job *job = v->rig->job;

	for (int i = 0; i < job->nworkloads && job->profile; i++)
		if (v->timed[i].chosen && !v->hangs && !gpu_fault(v->rig->gpu))
			profile(v, job->workloads[i], &v->timed[i]);
	if (job->sanitizer)
		sanitize(v);
}

/* ---- without a GPU */

void review_static(const struct subject *s, struct outcome *o)
{
	const struct buf *text = &s->job.bundle[LEG_CANDIDATE];
	struct bundle b = { 0 };
	struct err e;

	if (text->len && !bundle_parse(&b, text->data, text->len, &e))
		for (int i = 0; i < s->job.nworkloads; i++) {
			const struct plan *plan = bundle_plan(&b, s->job.workloads[i]->id);
			struct buf out = BUF_INIT;
			struct profile p;

			if (!plan)
				continue;
			profile_open(&p, &b, plan, NULL);
			profile_fit_target(&p);
			profile_disassemble(&p, PROFILE_SECONDS);
			err_set(&p.no_times, "there is no GPU");
			err_set(&p.no_counters, "there is no GPU");
			profile_emit(&out, &p);
			outcome_profile(o, i, out.data);
			buf_release(&out);
			profile_release(&p);
		}
	bundle_release(&b);
}
