/* The report as one tidy CSV table, a figure a line:
 *
 *     table,model,task,arm,measure,value,n
 *
 * value is empty where it is unknown, n (over how many it was taken) where it says nothing. A model's field is empty
 * for all models together. Tables: warning, total, change, task, scale. */
#include "report.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* What a line is about. */
struct about {
	struct buf *out;
	const char *table, *model, *task, *arm;
};

/* Quoted where RFC 4180 asks for it, and where a spreadsheet would take the text for a formula. */
static void put_field(struct buf *out, const char *s)
{
	bool formula = *s && strchr("=+-@\t\r", *s);

	if (!formula && !strpbrk(s, "\",\r\n")) {
		buf_addstr(out, s);
		return;
	}
	buf_addstr(out, formula ? "\"'" : "\"");
	for (; *s; s++)
		buf_addf(out, *s == '"' ? "\"%c" : "%c", *s);
	buf_addch(out, '"');
}

static void put_line(const struct about *a, const char *measure, double value, int n)
{
	put_field(a->out, a->table);
	buf_addch(a->out, ',');
	put_field(a->out, a->model);
	buf_addch(a->out, ',');
	put_field(a->out, a->task);
	buf_addch(a->out, ',');
	put_field(a->out, a->arm);
	buf_addch(a->out, ',');
	put_field(a->out, measure);
	buf_addch(a->out, ',');
	if (isfinite(value))
		buf_addf(a->out, "%.17g", value);
	buf_addch(a->out, ',');
	if (n >= 0)
		buf_addf(a->out, "%d", n);
	buf_addstr(a->out, "\n");
}

/* measure is PREFIX_NAME */
static void put_named(const struct about *a, const char *prefix, const char *name, double value, int n)
{
	char measure[64];

	snprintf(measure, sizeof measure, "%s_%s", prefix, name);
	put_line(a, measure, value, n);
}

static void put_scores(const struct about *a, const char *kind, const struct mean *plain, const struct mean *gated)
{
	char prefix[48];
	int i;

	snprintf(prefix, sizeof prefix, "%s_gated", kind);
	for (i = 0; i < SCORES; i++)
		put_named(a, kind, score_name[i], mean_value(&plain[i]), plain[i].n);
	for (i = 0; i < SCORES; i++)
		put_named(a, prefix, score_name[i], mean_value(&gated[i]), gated[i].n);
}

static void put_arm(const struct about *a, const struct arm_total *t, int arm)
{
	int i;

	if (arm != ARM_DESIGN) {
		put_line(a, "correct", t->correct, t->cells);
		put_line(a, "correct_share", t->cells ? t->correct / t->cells : NAN, t->cells);
		put_line(a, "performance_score", mean_exp(&t->log_perf), t->log_perf.n);
		put_line(a, "performance_by_rule", t->fallbacks, t->log_perf.n);
		for (i = 0; i < ENDINGS; i++)
			put_named(a, "outcome", ending_name[i], t->ending[i], t->trials);
	}
	put_scores(a, arm == ARM_DESIGN ? "design" : "implementation", t->plain, t->gated);
	for (i = 0; i < JUDGED; i++)
		put_named(a, "judged", judged_name[i], t->judged[i], t->trials);
	for (i = 0; i < CLASSES; i++)
		put_named(a, "tokens", class_name[i], mean_sum(&t->usage[i]), t->usage[i].n);
	put_line(a, "cost_usd", mean_sum(&t->cost), t->cost.n);
}

static void put_pair(const struct about *a, const char *prefix, const struct pair *p)
{
	put_named(a, prefix, "without", mean_exp(&p->without), p->without.n);
	put_named(a, prefix, "with", mean_exp(&p->with), p->with.n);
	put_named(a, prefix, "ratio", pair_ratio_exp(p), p->with.n);
}

static void put_change(const struct about *a, const struct change *c)
{
	int i;

	put_line(a, "correct_share", pair_difference(&c->correct), c->correct.with.n);
	put_pair(a, "performance_score", &c->log_perf);
	put_pair(a, "speedup_both_correct", &c->log_speed);
	for (i = 0; i < SCORES; i++)
		put_named(a, "implementation", score_name[i], pair_difference(&c->plain[i]), c->plain[i].with.n);
	for (i = 0; i < SCORES; i++)
		put_named(a, "implementation_gated", score_name[i], pair_difference(&c->gated[i]), c->gated[i].with.n);
	for (i = 0; i < CLASSES; i++)
		put_named(a, "tokens_ratio", class_name[i], pair_ratio(&c->usage[i]), c->usage[i].with.n);
	put_line(a, "cost_ratio", pair_ratio(&c->cost), c->cost.with.n);
}

static void put_total(const struct score *s, const struct total *t, const char *model, struct buf *out)
{
	int arm;

	for (arm = 0; arm < ARMS; arm++)
		if (report_has_arm(s, arm))
			put_arm(&(struct about){ out, "total", model, "", arm_name[arm] }, &t->arm[arm], arm);
	put_change(&(struct about){ out, "change", model, "", "" }, &t->change);
}

static void put_row(const struct score *s, const struct row *r, struct buf *out)
{
	int arm;

	for (arm = 0; arm < ARMS; arm++) {
		const struct about a = { out, "task", s->models[r->model], s->tasks[r->task], arm_name[arm] };
		const struct cell *c = &r->cell[arm];

		if (!c->trials)
			continue;
		if (arm != ARM_DESIGN) {
			put_line(&a, "correct", c->measured ? c->correct : NAN, c->measured);
			put_line(&a, "speedup", mean_exp(&c->log_speed), c->log_speed.n);
		}
		put_scores(&a, arm == ARM_DESIGN ? "design" : "implementation", c->plain, c->gated);
	}
}

static void put_scale(const struct score *s, struct buf *out)
{
	const struct about scale = { out, "scale", "", "", "" };
	int i;

	for (i = 0; i < s->ntasks; i++)
		put_line(&(struct about){ out, "scale", "", s->tasks[i], "" }, "expert", mean_exp(&s->expert[i]),
			 s->expert[i].n);
	put_line(&scale, "expert", mean_exp(&s->log_expert), s->log_expert.n);
	put_line(&scale, "baseline", 1, -1);
	put_line(&scale, "pytorch", NAN, 0);
	put_line(&scale, "incorrect", s->rule.kind == INCORRECT_DROP ? NAN : s->rule.value, -1);
	put_pair(&scale, "complete_models_speedup", &s->log_complete);
}

static void put_warning(const char *sentence, void *out)
{
	put_line(&(struct about){ out, "warning", "", "", "" }, sentence, NAN, -1);
}

static void print_csv(const struct score *s, struct buf *out)
{
	int i;

	buf_addstr(out, "table,model,task,arm,measure,value,n\n");
	report_warnings(s, put_warning, out);
	for (i = 0; i < s->nmodels; i++)
		put_total(s, &s->model[i], s->models[i], out);
	put_total(s, &s->all, "", out);
	for (i = 0; i < s->nrows; i++)
		put_row(s, &s->rows[i], out);
	put_scale(s, out);
}

const struct report_format report_csv = { "csv", print_csv };
