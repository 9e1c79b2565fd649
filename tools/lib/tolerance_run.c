/* Running the records that a report is made of. */
#include "tolerance.h"
#include "child.h"
#include "filter.h"
#include "json.h"
#include "work.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the loop over records carries along. */
struct bout {
	struct tolerance t;
	const struct demand *demand;
	double seconds_per_seed;
	uint64_t seeds[SEEDS_MAX];	/* of the first record, for all of them */
	int nseeds;
	char *device;			/* its name; NULL: not known yet */
	bool odd;			/* a record was none that can be tried */
};

static void share_seeds(struct bout *b, struct job *j)
{
	if (!b->nseeds) {
		memcpy(b->seeds, j->seeds, sizeof(b->seeds));
		b->nseeds = j->nseeds;
	}
	memcpy(j->seeds, b->seeds, sizeof(j->seeds));
}

static void take_device(struct bout *b, const struct outcome *o)
{
	struct err ignored;
	struct json *j;
	const char *name;

	if (b->device || !o->device.len)
		return;
	j = json_parse(o->device.data, o->device.len, &ignored);
	name = json_get_str(j, "name");
	b->device = name ? xstrdup(name) : NULL;
	json_free(j);
}

/* The workers' lines. A workload that ended early says why. */
static void take_runs(struct bout *b, struct outcome *o)
{
	char *line = o->figures.data, *end;

	for (; line && (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		tolerance_take(&b->t, line);
	}
	outcome_settle(o);
	if (o->status != TIME_CORRECT && o->status != TIME_WRONG)
		tolerance_trouble(&b->t, o->reason.len ? o->reason.data : time_status_name[o->status]);
	take_device(b, o);
}

/* -1: nothing can be run here, or no more. */
static int run(struct bout *b, struct subject *s, const char *where)
{
	struct outcome o;
	struct err e = { "" };
	struct work w = { .subject = s, .outcome = &o, .cpu = b->demand->cpu,
			  .timeout = b->seconds_per_seed * s->job.nseeds };
	int rc;

	share_seeds(b, &s->job);
	outcome_init(&o, &s->job);
	rc = work_run(&w, &e);
	if (rc)
		warn("%s: %s", where, e.text);
	else if (o.again.len)
		warn("%s: no GPU to try it on: %s", where, o.again.data);
	else
		take_runs(b, &o);
	rc = rc || o.again.len ? -1 : 0;
	outcome_release(&o);
	return rc;
}

/* What a record says of itself. */
static int enter(struct bout *b, const struct record *r, const struct json *build, struct err *e)
{
	char name[256], task[256], sha[HASH_HEX + 1];
	struct span honest = record_raw(r, "honest");
	bool yes = honest.n == 4 && !memcmp(honest.p, "true", 4), no = honest.n == 5 && !memcmp(honest.p, "false", 5);
	const char *source = json_get_str(build, "source_sha256");

	if (!record_str(r, "task", task, sizeof(task)) || strcmp(task, b->t.task->name))
		return err_set(e, "not of task '%s'", b->t.task->name);
	if (!record_str(r, "id", name, sizeof(name)))
		return err_set(e, "no 'id' to name it by");
	if (!yes && !no)
		return err_set(e, "'honest' says neither true nor false");
	snprintf(sha, sizeof(sha), "%s", source ? source : "");
	tolerance_enter(&b->t, name, yes, sha);
	return 0;
}

static int one_record(struct bout *b, const struct record *r)
{
	struct err e = { "" };
	struct json *build = record_get(r, "build", &e);
	const char *status = json_get_str(build, "status");
	struct subject s;
	int rc = 0;

	if (enter(b, r, build, &e)) {
		warn("%s: %s", r->where, e.text);
		b->odd = true;
	} else if (!status || strcmp(status, "ok")) {
		tolerance_trouble(&b->t, status ? status : "not built");
	} else {
		if (subject_open(&s, r, build, b->demand, &e) == TIME_CORRECT)
			rc = run(b, &s, r->where);
		else
			tolerance_trouble(&b->t, e.text);
		subject_release(&s);
	}
	json_free(build);
	return rc;
}

static int print_report(const struct bout *b, bool bad)
{
	struct tolerance_place p = { .tier = b->demand->tier, .seeds = b->seeds, .nseeds = b->nseeds,
				     .device = b->demand->cpu ? "cpu-interpreter" : b->device };
	struct buf out = BUF_INIT;
	struct err e = { "" };
	bool ok = tolerance_report(&b->t, &p, &out, &e);

	if (e.text[0])
		die("%s", e.text);
	fputs(out.data, stdout);
	buf_release(&out);
	return ok && !bad ? EXIT_DONE : EXIT_RECORD;
}

int tolerance_run(const char *name, const struct demand *d, double seconds_per_seed, char *const *files, int n)
{
	struct bout b = { .demand = d, .seconds_per_seed = seconds_per_seed };
	struct reader *rd = reader_open(files, n);
	struct task task;
	struct record r;
	struct err e;
	int bad = 0, rc = 0;

	if (task_load(&task, name, &e))
		die("%s: %s", name, e.text);
	tolerance_init(&b.t, &task);
	while (!rc && !child_interrupted && reader_next(rd, &r, &bad))
		rc = one_record(&b, &r);
	reader_close(rd);
	rc = rc || child_interrupted ? EXIT_AGAIN : print_report(&b, b.odd || bad);
	tolerance_release(&b.t);
	task_release(&task);
	free(b.device);
	stdout_close();
	return rc;
}
