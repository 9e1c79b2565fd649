/* Collecting runs, and what they say. */
#include "tolerance.h"
#include "emit.h"
#include "json.h"
#include "progress.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- in the worker */

void tolerance_tell(int fd, const struct result *r, uint64_t seed)
{
	struct measure m[MEASURES];
	struct buf b = BUF_INIT;

	emit_open(&b, '{');
	emit_kstr(&b, "workload", r->id);
	emit_kseed(&b, "seed", seed);
	emit_kstr(&b, "status", time_status_name[r->status]);
	emit_kstr(&b, "message", r->message.len ? r->message.data : NULL);
	emit_key(&b, "values");
	emit_open(&b, '[');
	for (int i = 0; i < r->noutputs; i++)
		for (int k = 0; k < r->outputs[i].n; k++) {
			int n = compare_measures(&r->outputs[i].figure[k], m);

			for (int j = 0; j < n; j++)
				emit_num(&b, r->outputs[i].nonfinite ? INFINITY : m[j].value);
		}
	emit_close(&b, ']');
	emit_close(&b, '}');
	progress_say(fd, PROGRESS_FIGURES, b.data);
	buf_release(&b);
}

/* ---- collecting */

static void add_conditions(struct tolerance *t, const struct tensor *x)
{
	for (int k = 0; k < x->nchecks; k++) {
		const struct check *c = &x->check[k];
		struct figure f = { .metric = c->metric, .limit = c->metric == METRIC_ULP ? c->share : c->max,
				    .max_steps = (long long)c->max, .least_equal = c->equal };
		struct measure m[MEASURES];
		int n = compare_measures(&f, m);

		t->condition = xrealloc(t->condition, (size_t)(t->nconditions + n) * sizeof(*t->condition));
		for (int j = 0; j < n; j++)
			t->condition[t->nconditions++] = (struct condition){ x->name, m[j] };
	}
}

void tolerance_init(struct tolerance *t, const struct task *task)
{
	*t = (struct tolerance){ .task = task };
	for (int i = 0; i < task->ntensors; i++)
		if (task->tensors[i].role != ROLE_IN)
			add_conditions(t, &task->tensors[i]);
}

void tolerance_release(struct tolerance *t)
{
	for (int i = 0; i < t->ncontenders; i++) {
		free(t->contender[i].name);
		free(t->contender[i].trouble);
	}
	for (size_t i = 0; i < t->nruns; i++) {
		free(t->run[i].workload);
		free(t->run[i].value);
	}
	free(t->contender);
	free(t->run);
	free(t->condition);
}

void tolerance_enter(struct tolerance *t, const char *name, bool honest, const char *source_sha256)
{
	struct contender c = { .name = xstrdup(name), .honest = honest };

	snprintf(c.source_sha256, sizeof(c.source_sha256), "%s", source_sha256 ? source_sha256 : "");
	t->contender = xrealloc(t->contender, (size_t)(t->ncontenders + 1) * sizeof(c));
	t->contender[t->ncontenders++] = c;
}

void tolerance_trouble(struct tolerance *t, const char *why)
{
	struct contender *c = &t->contender[t->ncontenders - 1];

	if (!c->trouble)
		c->trouble = xstrdup(why);
}

static void add_run(struct tolerance *t, const struct json *values, const char *workload, uint64_t seed)
{
	struct trial_run r = { t->ncontenders - 1, xstrdup(workload), seed,
			       xcalloc((size_t)t->nconditions + 1, sizeof(double)) };
	int k = 0;

	for (const struct json *v = json_first(values); v && k < t->nconditions; v = json_next(v))
		r.value[k++] = json_num(v, INFINITY);
	t->run = xgrow(t->run, &t->cap, t->nruns + 1, sizeof(r));
	t->run[t->nruns++] = r;
}

double tolerance_used(const struct tolerance *t, const struct trial_run *r, int k)
{
	struct measure m = t->condition[k].measure;

	m.value = r->value[k];
	return compare_used(&m);
}

double tolerance_most_used(const struct tolerance *t, const struct trial_run *r)
{
	double most = 0;

	for (int k = 0; k < t->nconditions; k++)
		most = fmax(most, tolerance_used(t, r, k));
	return most;
}

/* Whether the verdict is what the figures say: an input overwritten, for one, is wrong at any tolerance. */
static bool fits_verdict(const struct tolerance *t, const struct trial_run *r, const char *status)
{
	return !strcmp(status, tolerance_most_used(t, r) <= 1 ? "correct" : "wrong");
}

void tolerance_take(struct tolerance *t, const char *line)
{
	struct err e = { "" };
	struct json *j = json_parse(line, strlen(line), &e);
	const char *workload = json_get_str(j, "workload"), *seed = json_get_str(j, "seed"),
		   *status = json_get_str(j, "status"), *message = json_get_str(j, "message");
	const struct json *values = json_get(j, "values");
	bool whole = workload && seed && status && t->nconditions > 0 && json_len(values) == t->nconditions;

	if (whole)
		add_run(t, values, workload, strtoull(seed, NULL, 0));
	if (!whole || !fits_verdict(t, &t->run[t->nruns - 1], status)) {
		char *why = xasprintf("%s, seed %s: %s", workload ? workload : "?", seed ? seed : "?",
				      message ? message : status ? status : e.text);

		tolerance_trouble(t, why);
		free(why);
	}
	json_free(j);
}

/* ---- findings */

/* Of the runs of a submission (on one seed; NULL: on all) the one that comes farthest. */
static struct finding farthest(const struct tolerance *t, int submission, const uint64_t *seed, int condition)
{
	struct finding f = { NULL, 0, -1 };

	for (size_t i = 0; i < t->nruns; i++) {
		const struct trial_run *r = &t->run[i];

		if (r->submission != submission || (seed && r->seed != *seed))
			continue;
		for (int k = 0; k < t->nconditions; k++)
			if ((condition < 0 || k == condition) && tolerance_used(t, r, k) > f.used)
				f = (struct finding){ r, k, tolerance_used(t, r, k) };
	}
	return f;
}

struct finding tolerance_counts(const struct tolerance *t, int submission, int condition)
{
	struct finding least = { NULL, 0, INFINITY };

	if (t->contender[submission].honest)
		return farthest(t, submission, NULL, condition);
	for (size_t i = 0; i < t->nruns; i++)
		if (t->run[i].submission == submission) {
			struct finding f = farthest(t, submission, &t->run[i].seed, condition);

			if (!least.run || f.used < least.used)
				least = f;
		}
	return least;
}
