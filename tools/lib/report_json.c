/* The report as one JSON object: every figure with full precision, unknown ones as null. */
#include "report.h"
#include "emit.h"
#include "opt.h"
#include <math.h>

static void put_warning(const char *sentence, void *out)
{
	emit_str(out, sentence);
}

static void emit_rule(struct buf *out, const struct score *s)
{
	static const char *const names[] = {
		[INCORRECT_BASELINE] = "baseline",
		[INCORRECT_DROP] = "drop",
		[INCORRECT_NUMBER] = "number",
	};

	emit_key(out, "incorrect");
	emit_open(out, '{');
	emit_kstr(out, "rule", names[s->rule.kind]);
	emit_knum(out, "value", s->rule.kind == INCORRECT_DROP ? NAN : s->rule.value);
	emit_close(out, '}');
}

static void emit_pairing(struct buf *out, const struct pairing *p)
{
	size_t i;

	emit_key(out, "refused");
	emit_open(out, '[');
	for (i = 0; i < p->nrefusals; i++) {
		emit_open(out, '{');
		emit_kstr(out, "a", p->refusals[i].a);
		emit_kstr(out, "b", p->refusals[i].b);
		emit_kbool(out, "a_left_out", p->refusals[i].a_out);
		emit_kbool(out, "b_left_out", p->refusals[i].b_out);
		emit_close(out, '}');
	}
	emit_close(out, ']');
	emit_key(out, "duplicates");
	emit_open(out, '[');
	for (i = 0; i < p->nduplicates; i++)
		emit_str(out, p->duplicates[i]);
	emit_close(out, ']');
}

static void emit_counts(struct buf *out, const struct score *s)
{
	emit_key(out, "counts");
	emit_open(out, '{');
	emit_kint(out, "records", (long long)s->records);
	emit_kint(out, "unreadable", (long long)s->bad);
	emit_kint(out, "duplicates", (long long)s->pairing.nduplicates);
	emit_kint(out, "left_out", (long long)s->left_out);
	emit_kint(out, "on_cpu", (long long)s->cpu);
	emit_kint(out, "scripted", (long long)s->scripted);
	emit_kint(out, "scripted_judge", (long long)s->scripted_judge);
	emit_kint(out, "correct_without_time", (long long)s->untimed);
	emit_kint(out, "not_comparable", (long long)s->incomparable);
	emit_kint(out, "pairs_with_one_arm", s->single);
	emit_kint(out, "pairs_with_mixed_hashes", s->pairing.mixed);
	emit_kint(out, "judges", s->judges);
	emit_close(out, '}');
}

static void emit_means(struct buf *out, const char *key, const struct mean m[SCORES])
{
	int i;

	emit_key(out, key);
	emit_open(out, '{');
	for (i = 0; i < SCORES; i++)
		emit_knum(out, score_name[i], mean_value(&m[i]));
	emit_close(out, '}');
}

static void emit_scores(struct buf *out, const char *key, const struct mean plain[SCORES],
			const struct mean gated[SCORES])
{
	emit_key(out, key);
	emit_open(out, '{');
	emit_kint(out, "tasks", plain[COMBINED].n);
	emit_means(out, "plain", plain);
	emit_means(out, "gated", gated);
	emit_close(out, '}');
}

static void emit_named(struct buf *out, const char *key, const char *const *names, const int *count, int n)
{
	int i;

	emit_key(out, key);
	emit_open(out, '{');
	for (i = 0; i < n; i++)
		emit_kint(out, names[i], count[i]);
	emit_close(out, '}');
}

static void emit_usage(struct buf *out, const struct arm_total *a)
{
	int i;

	emit_key(out, "usage");
	emit_open(out, '{');
	for (i = 0; i < CLASSES; i++)
		emit_knum(out, class_name[i], mean_sum(&a->usage[i]));
	emit_close(out, '}');
	emit_key(out, "usage_known");
	emit_open(out, '{');
	for (i = 0; i < CLASSES; i++)
		emit_kint(out, class_name[i], a->usage[i].n);
	emit_close(out, '}');
	emit_knum(out, "cost_usd", mean_sum(&a->cost));
	emit_kint(out, "cost_known", a->cost.n);
}

static void emit_arm(struct buf *out, const struct arm_total *a, int arm)
{
	emit_key(out, arm_name[arm]);
	emit_open(out, '{');
	emit_kint(out, "trials", a->trials);
	if (arm != ARM_DESIGN) {
		emit_kint(out, "pairs", a->cells);
		emit_knum(out, "correct", a->correct);
		emit_knum(out, "correct_share", a->cells ? a->correct / a->cells : NAN);
		emit_knum(out, "performance_score", mean_exp(&a->log_perf));
		emit_kint(out, "performance_tasks", a->log_perf.n);
		emit_kint(out, "performance_by_rule", a->fallbacks);
		emit_named(out, "outcomes", ending_name, a->ending, ENDINGS);
	}
	emit_scores(out, arm == ARM_DESIGN ? "design" : "implementation", a->plain, a->gated);
	emit_named(out, "judged", judged_name, a->judged, JUDGED);
	emit_usage(out, a);
	emit_close(out, '}');
}

static void emit_speeds(struct buf *out, const char *key, const struct pair *p)
{
	emit_key(out, key);
	emit_open(out, '{');
	emit_kint(out, "pairs", p->with.n);
	emit_knum(out, "without", mean_exp(&p->without));
	emit_knum(out, "with", mean_exp(&p->with));
	emit_knum(out, "ratio", pair_ratio_exp(p));
	emit_close(out, '}');
}

static void emit_differences(struct buf *out, const char *key, const struct pair p[SCORES])
{
	int i;

	emit_key(out, key);
	emit_open(out, '{');
	emit_kint(out, "pairs", p[COMBINED].with.n);
	for (i = 0; i < SCORES; i++)
		emit_knum(out, score_name[i], pair_difference(&p[i]));
	emit_close(out, '}');
}

static void emit_change(struct buf *out, const struct change *c)
{
	int i;

	emit_key(out, "change");
	emit_open(out, '{');
	emit_kint(out, "pairs", c->correct.with.n);
	emit_knum(out, "correct_share", pair_difference(&c->correct));
	emit_speeds(out, "performance_score", &c->log_perf);
	emit_speeds(out, "speedup_both_correct", &c->log_speed);
	emit_differences(out, "implementation", c->plain);
	emit_differences(out, "implementation_gated", c->gated);
	emit_key(out, "usage_ratio");
	emit_open(out, '{');
	for (i = 0; i < CLASSES; i++)
		emit_knum(out, class_name[i], pair_ratio(&c->usage[i]));
	emit_close(out, '}');
	emit_knum(out, "cost_ratio", pair_ratio(&c->cost));
	emit_close(out, '}');
}

static void emit_total(struct buf *out, const struct score *s, const struct total *t, const char *model)
{
	int arm;

	emit_open(out, '{');
	if (model)
		emit_kstr(out, "model", model);
	emit_key(out, "arms");
	emit_open(out, '{');
	for (arm = 0; arm < ARMS; arm++)
		if (report_has_arm(s, arm))
			emit_arm(out, &t->arm[arm], arm);
	emit_close(out, '}');
	emit_change(out, &t->change);
	emit_close(out, '}');
}

static void emit_complete(struct buf *out, const struct score *s)
{
	int i;

	emit_key(out, "complete_models");
	emit_open(out, '{');
	emit_key(out, "models");
	emit_open(out, '[');
	for (i = 0; i < s->nmodels; i++)
		if (s->complete[i])
			emit_str(out, s->models[i]);
	emit_close(out, ']');
	emit_speeds(out, "speedup", &s->log_complete);
	emit_close(out, '}');
}

static void emit_cell(struct buf *out, const struct cell *c, int arm, const struct incorrect_rule *rule)
{
	bool by_rule;
	double performance = cell_performance(c, rule, &by_rule);

	emit_key(out, arm_name[arm]);
	emit_open(out, '{');
	emit_kint(out, "trials", c->trials);
	if (arm != ARM_DESIGN) {
		emit_kint(out, "measured", c->measured);
		emit_kint(out, "correct", c->correct);
		emit_kstr(out, "outcome", ending_name[c->ending]);
		emit_knum(out, "speedup", mean_exp(&c->log_speed));
		emit_knum(out, "performance", performance);
		emit_kbool(out, "by_rule", by_rule);
	}
	emit_scores(out, arm == ARM_DESIGN ? "design" : "implementation", c->plain, c->gated);
	emit_close(out, '}');
}

static void emit_rows(struct buf *out, const struct score *s)
{
	int i, arm;

	emit_key(out, "tasks");
	emit_open(out, '[');
	for (i = 0; i < s->nrows; i++) {
		const struct row *r = &s->rows[i];

		emit_open(out, '{');
		emit_kstr(out, "task", s->tasks[r->task]);
		emit_kstr(out, "model", s->models[r->model]);
		emit_knum(out, "expert", mean_exp(&s->expert[r->task]));
		emit_key(out, "arms");
		emit_open(out, '{');
		for (arm = 0; arm < ARMS; arm++)
			if (r->cell[arm].trials)
				emit_cell(out, &r->cell[arm], arm, &s->rule);
		emit_close(out, '}');
		emit_close(out, '}');
	}
	emit_close(out, ']');
}

static void emit_scale(struct buf *out, const struct score *s)
{
	emit_key(out, "scale");
	emit_open(out, '{');
	emit_knum(out, "baseline", 1);
	emit_knum(out, "expert", mean_exp(&s->log_expert));
	emit_kint(out, "expert_tasks", s->log_expert.n);
	emit_knull(out, "pytorch");
	emit_close(out, '}');
}

static void print_json(const struct score *s, struct buf *out)
{
	int i;

	emit_open(out, '{');
	emit_kstr(out, "tool", "d2k-score " D2K_VERSION);
	emit_key(out, "warnings");
	emit_open(out, '[');
	report_warnings(s, put_warning, out);
	emit_close(out, ']');
	emit_counts(out, s);
	emit_rule(out, s);
	emit_pairing(out, &s->pairing);
	emit_key(out, "devices");
	emit_open(out, '[');
	for (i = 0; i < s->ndevices; i++)
		emit_str(out, s->devices[i]);
	emit_close(out, ']');
	emit_key(out, "models");
	emit_open(out, '[');
	for (i = 0; i < s->nmodels; i++)
		emit_total(out, s, &s->model[i], s->models[i]);
	emit_close(out, ']');
	emit_key(out, "all");
	emit_total(out, s, &s->all, NULL);
	emit_complete(out, s);
	emit_scale(out, s);
	emit_rows(out, s);
	emit_close(out, '}');
	buf_addch(out, '\n');
}

const struct report_format report_json = { "json", print_json };
