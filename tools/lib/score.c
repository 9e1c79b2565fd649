/* From trials to totals. Cells first (one model, task and arm), then totals per model and over all models. */
#include "score.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* NaN is not added. */
static void mean_add(struct mean *m, double x)
{
	if (isnan(x))
		return;
	m->sum += x;
	m->n++;
}

double mean_value(const struct mean *m)
{
	return m->n ? m->sum / m->n : NAN;
}

double mean_exp(const struct mean *m)
{
	return m->n ? exp(m->sum / m->n) : NAN;
}

double mean_sum(const struct mean *m)
{
	return m->n ? m->sum : NAN;
}

/* Names ----------------------------------------------------------------------------------------------------------- */

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int name_index(char *const *names, int n, const char *s)
{
	char *const *p = n ? bsearch(&s, names, (size_t)n, sizeof *names, by_text) : NULL;

	return p ? (int)(p - names) : -1;
}

/* A sorted list of different names. */
struct names {
	char **v;
	int n;
	size_t cap;
};

static void names_add(struct names *l, const char *s)
{
	if (!s || (l->n && !strcmp(l->v[l->n - 1], s)) || name_index(l->v, l->n, s) >= 0)
		return;
	l->v = xgrow(l->v, &l->cap, (size_t)l->n + 1, sizeof *l->v);
	l->v[l->n++] = xstrdup(s);
	qsort(l->v, (size_t)l->n, sizeof *l->v, by_text);
}

static void names_release(struct names *l)
{
	int i;

	for (i = 0; i < l->n; i++)
		free(l->v[i]);
	free(l->v);
}

static void collect_names(struct score *s, const struct trials *t)
{
	struct names models = { 0 }, tasks = { 0 }, devices = { 0 }, judges = { 0 };
	size_t i;

	for (i = 0; i < t->n; i++) {
		if (t->v[i].left_out)
			continue;
		names_add(&models, t->v[i].model);
		names_add(&tasks, t->v[i].task);
		names_add(&devices, t->v[i].device);
		if (t->v[i].judged == JUDGED_SCORED)
			names_add(&judges, t->v[i].judge);
	}
	s->models = models.v;
	s->nmodels = models.n;
	s->tasks = tasks.v;
	s->ntasks = tasks.n;
	s->devices = devices.v;
	s->ndevices = devices.n;
	s->judges = judges.n;
	names_release(&judges);
}

/* Cells ----------------------------------------------------------------------------------------------------------- */

static void cell_add(struct cell *c, const struct trial *t)
{
	int i;

	c->trials++;
	c->correct += t->ending == ENDED_CORRECT;
	c->measured += ending_measured(t->ending);
	c->graded += ending_measured(t->ending) && t->comparable;
	if (c->trials == 1 || c->ending == ENDED_CORRECT)
		c->ending = t->ending;
	mean_add(&c->log_speed, log(t->speedup));
	for (i = 0; i < SCORES && t->judged == JUDGED_SCORED; i++) {
		mean_add(&c->plain[i], t->plain[i]);
		mean_add(&c->gated[i], t->gated[i]);
	}
	for (i = 0; i < CLASSES; i++)
		mean_add(&c->usage[i], t->usage[i]);
	mean_add(&c->cost, t->cost);
}

/* The trials are sorted by model and task. */
static void make_rows(struct score *s, const struct trials *t)
{
	struct row *row = NULL;
	size_t i, cap = 0;

	for (i = 0; i < t->n; i++) {
		const struct trial *tr = &t->v[i];
		int model, task;

		if (tr->left_out)
			continue;
		model = name_index(s->models, s->nmodels, tr->model);
		task = name_index(s->tasks, s->ntasks, tr->task);
		if (!row || row->model != model || row->task != task) {
			s->rows = xgrow(s->rows, &cap, (size_t)s->nrows + 1, sizeof *s->rows);
			row = &s->rows[s->nrows++];
			*row = (struct row){ .model = model, .task = task };
		}
		cell_add(&row->cell[tr->arm], tr);
		mean_add(&s->expert[task], log(tr->expert));
	}
}

static double share(const struct cell *c)
{
	return c->measured ? (double)c->correct / c->measured : NAN;
}

double cell_performance(const struct cell *c, const struct incorrect_rule *rule, bool *fallback)
{
	*fallback = false;
	if (c->correct)
		return mean_exp(&c->log_speed);
	if (!c->graded || rule->kind == INCORRECT_DROP)
		return NAN;
	*fallback = true;
	return rule->value;
}

/* Totals ---------------------------------------------------------------------------------------------------------- */

static void add_arm(struct arm_total *a, const struct cell *c, const struct incorrect_rule *rule)
{
	bool fallback;
	int i;

	mean_add(&a->log_perf, log(cell_performance(c, rule, &fallback)));
	a->fallbacks += fallback;
	a->cells += c->measured > 0;
	a->correct += c->measured ? share(c) : 0;
	for (i = 0; i < SCORES; i++) {
		mean_add(&a->plain[i], mean_value(&c->plain[i]));
		mean_add(&a->gated[i], mean_value(&c->gated[i]));
	}
}

static void pair_add(struct pair *p, double without, double with)
{
	if (isnan(without) || isnan(with))
		return;
	mean_add(&p->without, without);
	mean_add(&p->with, with);
}

double pair_difference(const struct pair *p)
{
	return mean_value(&p->with) - mean_value(&p->without);
}

double pair_ratio_exp(const struct pair *p)
{
	return exp(pair_difference(p));
}

double pair_ratio(const struct pair *p)
{
	return p->without.n && p->without.sum > 0 ? p->with.sum / p->without.sum : NAN;
}

static void add_change(struct change *c, const struct row *r, const struct incorrect_rule *rule)
{
	const struct cell *a = &r->cell[ARM_WITHOUT], *b = &r->cell[ARM_WITH];
	bool ignored;
	int i;

	pair_add(&c->correct, share(a), share(b));
	pair_add(&c->log_perf, log(cell_performance(a, rule, &ignored)), log(cell_performance(b, rule, &ignored)));
	pair_add(&c->log_speed, mean_value(&a->log_speed), mean_value(&b->log_speed));
	for (i = 0; i < SCORES; i++) {
		pair_add(&c->plain[i], mean_value(&a->plain[i]), mean_value(&b->plain[i]));
		pair_add(&c->gated[i], mean_value(&a->gated[i]), mean_value(&b->gated[i]));
	}
	for (i = 0; i < CLASSES; i++)
		pair_add(&c->usage[i], mean_value(&a->usage[i]), mean_value(&b->usage[i]));
	pair_add(&c->cost, mean_value(&a->cost), mean_value(&b->cost));
}

static void add_row(struct total *t, const struct row *r, const struct incorrect_rule *rule)
{
	int arm;

	for (arm = 0; arm < ARMS; arm++)
		add_arm(&t->arm[arm], &r->cell[arm], rule);
	add_change(&t->change, r, rule);
}

/* What is counted by trial and not by cell. */
static void add_trial(struct total *total, const struct trial *t)
{
	struct arm_total *a = &total->arm[t->arm];
	int i;

	a->trials++;
	a->ending[t->ending]++;
	a->judged[t->judged]++;
	for (i = 0; i < CLASSES; i++)
		mean_add(&a->usage[i], t->usage[i]);
	mean_add(&a->cost, t->cost);
}

static void find_complete(struct score *s)
{
	int *whole = xcalloc((size_t)s->nmodels + 1, sizeof *whole), i;

	s->complete = xcalloc((size_t)s->nmodels + 1, sizeof *s->complete);
	for (i = 0; i < s->nrows; i++)
		whole[s->rows[i].model] += share(&s->rows[i].cell[ARM_WITHOUT]) >= 1 &&
					   share(&s->rows[i].cell[ARM_WITH]) >= 1;
	for (i = 0; i < s->nmodels; i++) {
		s->complete[i] = whole[i] == s->ntasks;
		s->ncomplete += s->complete[i];
	}
	for (i = 0; i < s->nrows; i++)
		if (s->complete[s->rows[i].model])
			pair_add(&s->log_complete, mean_value(&s->rows[i].cell[ARM_WITHOUT].log_speed),
				 mean_value(&s->rows[i].cell[ARM_WITH].log_speed));
	free(whole);
}

static void count_oddities(struct score *s, const struct trials *t)
{
	size_t i;
	int k;

	for (i = 0; i < t->n; i++) {
		const struct trial *tr = &t->v[i];

		if (tr->left_out)
			continue;
		s->cpu += tr->cpu;
		s->scripted += tr->scripted;
		s->scripted_judge += tr->scripted_judge;
		s->untimed += tr->ending == ENDED_CORRECT && tr->comparable && isnan(tr->speedup);
		s->incomparable += ending_measured(tr->ending) && !tr->comparable && !tr->cpu;
	}
	for (k = 0; k < s->nrows; k++)
		s->single += !s->rows[k].cell[ARM_WITHOUT].measured != !s->rows[k].cell[ARM_WITH].measured;
	s->left_out = t->n - s->pairing.nduplicates;
	for (i = 0; i < t->n; i++)
		s->left_out -= !t->v[i].left_out;
}

void score_compute(struct score *s, struct trials *t, const struct incorrect_rule *rule, size_t bad)
{
	size_t i;
	int k;

	*s = (struct score){ .rule = *rule, .records = t->n, .bad = bad };
	pairing_find(&s->pairing, t);
	collect_names(s, t);
	s->expert = xcalloc((size_t)s->ntasks + 1, sizeof *s->expert);
	s->model = xcalloc((size_t)s->nmodels + 1, sizeof *s->model);
	make_rows(s, t);
	for (k = 0; k < s->nrows; k++) {
		add_row(&s->model[s->rows[k].model], &s->rows[k], rule);
		add_row(&s->all, &s->rows[k], rule);
	}
	for (i = 0; i < t->n; i++) {
		if (t->v[i].left_out)
			continue;
		add_trial(&s->model[name_index(s->models, s->nmodels, t->v[i].model)], &t->v[i]);
		add_trial(&s->all, &t->v[i]);
	}
	for (k = 0; k < s->ntasks; k++)
		mean_add(&s->log_expert, mean_value(&s->expert[k]));
	find_complete(s);
	count_oddities(s, t);
}

static void free_names(char **v, int n)
{
	names_release(&(struct names){ v, n, 0 });
}

void score_release(struct score *s)
{
	free_names(s->models, s->nmodels);
	free_names(s->tasks, s->ntasks);
	free_names(s->devices, s->ndevices);
	free(s->rows);
	free(s->model);
	free(s->expert);
	free(s->complete);
	pairing_release(&s->pairing);
}
