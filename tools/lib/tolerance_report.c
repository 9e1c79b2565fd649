/* The report. */
#include "tolerance.h"
#include "emit.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Four digits say enough. */
static void emit_brief(struct buf *out, const char *key, double x)
{
	char text[32];

	snprintf(text, sizeof(text), "%.4g", x);
	emit_kgiven(out, key, strtod(text, NULL));
}

/* How far off the limit, to the side where it should be; infinite when nothing is off, or not finite. */
static double margin(bool honest, double used)
{
	return honest ? 1 / used : used;
}

static bool keeps(bool honest, const struct finding *f)
{
	return f->run && margin(honest, f->used) >= TOLERANCE_MARGIN;
}

/* The members of a finding. */
static void emit_finding(struct buf *out, const struct tolerance *t, const struct finding *f)
{
	const struct contender *c = &t->contender[f->run->submission];

	emit_brief(out, "margin", margin(c->honest, f->used));
	emit_brief(out, "value", f->run->value[f->condition]);
	emit_kstr(out, "workload", f->run->workload);
	emit_kseed(out, "seed", f->run->seed);
}

/* ---- conditions */

/* By one condition: the honest submission that comes farthest; or, of the wrong ones that it shows where it counts, the
 * one that it shows least. */
static struct finding nearest(const struct tolerance *t, bool honest, int condition)
{
	struct finding best = { NULL, condition, 0 };

	for (int s = 0; s < t->ncontenders; s++) {
		struct finding f = tolerance_counts(t, s, honest ? condition : -1);

		if (t->contender[s].honest != honest || f.condition != condition)
			continue;
		if (f.run && (!best.run || margin(honest, f.used) < margin(honest, best.used)))
			best = f;
	}
	return best;
}

static void emit_side(struct buf *out, const struct tolerance *t, const char *key, const struct finding *f)
{
	if (!f->run) {
		emit_knull(out, key);
		return;
	}
	emit_key(out, key);
	emit_open(out, '{');
	emit_kstr(out, "who", t->contender[f->run->submission].name);
	emit_finding(out, t, f);
	emit_close(out, '}');
}

static bool report_condition(const struct tolerance *t, int k, struct buf *out)
{
	struct finding honest = nearest(t, true, k), wrong = nearest(t, false, k);
	bool ok = keeps(true, &honest) && (!wrong.run || keeps(false, &wrong));

	emit_open(out, '{');
	emit_kstr(out, "output", t->condition[k].output);
	emit_kstr(out, "measure", t->condition[k].measure.name);
	emit_brief(out, "limit", t->condition[k].measure.limit);
	emit_side(out, t, "honest", &honest);
	emit_side(out, t, "wrong", &wrong);
	emit_kbool(out, "ok", ok);
	emit_close(out, '}');
	buf_addch(out, '\n');
	return ok;
}

/* ---- submissions */

static bool alike(const struct trial_run *a, const struct trial_run *b)
{
	return a->submission == b->submission && !strcmp(a->workload, b->workload);
}

/* The margin on each workload alone, on the seed where it is least. */
static void emit_workloads(struct buf *out, const struct tolerance *t, int submission)
{
	emit_key(out, "workloads");
	emit_open(out, '{');
	for (size_t i = 0; i < t->nruns; i++) {
		const struct trial_run *r = &t->run[i];
		double least = INFINITY;
		bool first = true;

		for (size_t k = 0; k < t->nruns; k++)
			if (alike(&t->run[k], r)) {
				first &= k >= i;
				least = fmin(least, margin(t->contender[submission].honest, tolerance_most_used(t, &t->run[k])));
			}
		if (r->submission == submission && first)
			emit_brief(out, r->workload, least);
	}
	emit_close(out, '}');
}

static bool report_contender(const struct tolerance *t, int s, struct buf *out)
{
	const struct contender *c = &t->contender[s];
	struct finding f = tolerance_counts(t, s, -1);
	bool ok = !c->trouble && keeps(c->honest, &f);

	emit_open(out, '{');
	emit_kstr(out, "who", c->name);
	emit_kbool(out, "honest", c->honest);
	emit_kstr(out, "source_sha256", c->source_sha256);
	emit_kbool(out, "ok", ok);
	emit_kstr(out, "trouble", c->trouble);
	if (f.run) {
		emit_kstr(out, "output", t->condition[f.condition].output);
		emit_kstr(out, "measure", t->condition[f.condition].measure.name);
		emit_finding(out, t, &f);
		emit_workloads(out, t, s);
	}
	emit_close(out, '}');
	buf_addch(out, '\n');
	return ok;
}

/* ---- the whole */

static int emit_head(struct buf *out, const struct tolerance *t, const struct tolerance_place *p, bool ok,
		     struct err *e)
{
	char hash[HASH_HEX], *path = xasprintf("%s/task.json", t->task->dir);
	int rc = hash_file(path, hash, e);

	free(path);
	if (rc)
		return -1;
	emit_open(out, '{');
	emit_kstr(out, "tool", "d2k-time " D2K_VERSION);
	emit_kstr(out, "task", t->task->name);
	emit_kbool(out, "ok", ok);
	emit_kint(out, "least_margin", TOLERANCE_MARGIN);
	emit_kstr(out, "tier", p->tier);
	emit_kstr(out, "device", p->device);
	emit_kstr(out, "task_hash", hash);
	emit_kstr(out, "oracle_hash", t->task->oracle_hash);
	emit_kstr(out, "workloads_hash", t->task->workloads_hash);
	emit_key(out, "seeds");
	emit_open(out, '[');
	for (int i = 0; i < p->nseeds; i++)
		emit_seed(out, p->seeds[i]);
	emit_close(out, ']');
	emit_close(out, '}');
	buf_addch(out, '\n');
	return 0;
}

static bool has_both_sides(const struct tolerance *t)
{
	bool side[2] = { false, false };

	for (int s = 0; s < t->ncontenders; s++)
		side[t->contender[s].honest] = true;
	return side[false] && side[true];
}

bool tolerance_report(const struct tolerance *t, const struct tolerance_place *p, struct buf *out, struct err *e)
{
	struct buf lines = BUF_INIT;
	bool ok = has_both_sides(t);

	for (int k = 0; k < t->nconditions; k++)
		ok &= report_condition(t, k, &lines);
	for (int s = 0; s < t->ncontenders; s++)
		ok &= report_contender(t, s, &lines);
	if (emit_head(out, t, p, ok, e))
		ok = false;
	else if (lines.len)
		buf_addbuf(out, &lines);
	buf_release(&lines);
	return ok;
}
