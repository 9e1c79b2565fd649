/* The report's tables, one function each: which rows, which columns, which words. Correctness and speed are here, what
 * was judged and used up in report_scores.c. */
#include "report_tables.h"
#include <math.h>

int total_rows(const struct score *s)
{
	return s->nmodels > 1 ? s->nmodels + 1 : s->nmodels;
}

const struct total *total_at(const struct score *s, int i)
{
	return i < s->nmodels ? &s->model[i] : &s->all;
}

const char *total_name(const struct score *s, int i)
{
	return i < s->nmodels ? s->models[i] : "all models";
}

void total_rule(struct table *t, const struct score *s, int i)
{
	if (i == s->nmodels)
		table_rule(t);
}

/* The first cell of a row of totals. */
static void name_cell(struct table *t, const struct score *s, int i)
{
	total_rule(t, s, i);
	table_cell(t, "%s", total_name(s, i));
}

/* Is it an arm in which code is written, and in the records? */
static bool has_code_arm(const struct score *s, int arm)
{
	return arm != ARM_DESIGN && report_has_arm(s, arm);
}

bool has_pair(const struct score *s)
{
	return report_has_arm(s, ARM_WITH) && report_has_arm(s, ARM_WITHOUT);
}

void table_percent(struct table *t, double ratio)
{
	table_signed(t, 100 * (ratio - 1), 1, " %");
}

/* Two columns for each arm in which code is written, and the change. */
static void arm_columns(const struct score *s, struct table *t, const char *second)
{
	table_column(t, 'l', "model");
	for (int arm = 0; arm < ARMS; arm++) {
		if (!has_code_arm(s, arm))
			continue;
		table_column(t, 'r', arm_name[arm]);
		table_column(t, 'r', second);
	}
	table_column(t, 'r', "change");
}

static void correctness(const struct score *s, struct table *t)
{
	int i, arm;

	table_init(t, "Correctness");
	t->note = xstrdup("Model-task pairs that are correct: every workload of the task is. A pair with several "
			  "repeats counts by the share of its correct ones.");
	arm_columns(s, t, "share");
	for (i = 0; i < total_rows(s); i++) {
		const struct total *total = total_at(s, i);

		name_cell(t, s, i);
		for (arm = 0; arm < ARMS; arm++) {
			const struct arm_total *a = &total->arm[arm];

			if (!has_code_arm(s, arm))
				continue;
			table_cell(t, "%.5g/%d", a->correct, a->cells);
			table_number(t, a->cells ? 100 * a->correct / a->cells : NAN, 1, " %");
		}
		table_signed(t, 100 * pair_difference(&total->change.correct), 1, " pts");
	}
}

/* A line without a model's name: one value for the whole scale. */
static void scale_row(struct table *t, const struct score *s, const char *name, double value, int n)
{
	int arm;

	table_cell(t, "%s", name);
	for (arm = 0; arm < ARMS; arm++) {
		if (!has_code_arm(s, arm))
			continue;
		table_number(t, value, 2, "");
		if (n)
			table_cell(t, "%d", n);
		else
			table_cell(t, "%s", "");
	}
	table_cell(t, "%s", "");
}

static void performance(const struct score *s, struct table *t)
{
	struct buf rule = BUF_INIT;
	int i, arm;

	report_rule(&s->rule, &rule);
	table_init(t, "Performance Score");
	t->note = xasprintf("Geometric mean over tasks of the baseline's time divided by the submission's; higher is "
			    "faster. A task without a correct submission %s. n: tasks (model-task pairs over all "
			    "models); in brackets, how many of them count by that rule.", rule.data);
	buf_release(&rule);
	arm_columns(s, t, "n");
	for (i = 0; i < total_rows(s); i++) {
		const struct total *total = total_at(s, i);

		name_cell(t, s, i);
		for (arm = 0; arm < ARMS; arm++) {
			const struct arm_total *a = &total->arm[arm];

			if (!has_code_arm(s, arm))
				continue;
			table_number(t, mean_exp(&a->log_perf), 2, "");
			table_cell(t, a->fallbacks ? "%d (%d)" : "%d", a->log_perf.n, a->fallbacks);
		}
		table_percent(t, pair_ratio_exp(&total->change.log_perf));
	}
	table_rule(t);
	scale_row(t, s, "expert", mean_exp(&s->log_expert), s->log_expert.n);
	scale_row(t, s, "baseline", 1, 0);
	scale_row(t, s, "PyTorch (not in these records)", NAN, 0);
}

static void both_correct(const struct score *s, struct table *t)
{
	int i;

	table_init(t, "Speedup where both arms are correct");
	t->note = xstrdup("Geometric mean over the model-task pairs that are correct, and timed on a GPU, with and "
			  "without guidance.");
	table_column(t, 'l', "model");
	table_column(t, 'r', "pairs");
	table_column(t, 'r', "without");
	table_column(t, 'r', "with");
	table_column(t, 'r', "change");
	for (i = 0; i <= total_rows(s); i++) {
		const struct pair *p = &total_at(s, i)->change.log_speed;

		if (i == total_rows(s)) {
			if (!s->ncomplete)
				break;
			p = &s->log_complete;
			table_cell(t, "models correct on every task: %d", s->ncomplete);
		} else {
			name_cell(t, s, i);
		}
		table_cell(t, "%d", p->with.n);
		table_number(t, mean_exp(&p->without), 2, "");
		table_number(t, mean_exp(&p->with), 2, "");
		table_percent(t, pair_ratio_exp(p));
	}
}

/* A speedup, or why there is none. */
static void cell_text(struct table *t, const struct cell *c)
{
	double speed = mean_exp(&c->log_speed);

	if (!c->trials)
		table_cell(t, "-");
	else if (!c->correct)
		table_cell(t, "%s", ending_name[c->ending]);
	else if (isnan(speed))
		table_cell(t, "no time");
	else if (c->correct < c->measured)
		table_cell(t, "(%d/%d) %.2f", c->correct, c->measured, speed);
	else
		table_cell(t, "%.2f", speed);
}

static void per_task(const struct score *s, struct table *t)
{
	int task, i, arm, shown;

	table_init(t, "Speedup per task");
	t->note = xstrdup("Over the task's baseline; of several repeats, the geometric mean of the correct ones (how "
			  "many in brackets). Without a correct submission, why; no time: correct, but not "
			  "comparable.");
	table_column(t, 'l', "task");
	table_column(t, 'l', "model");
	for (arm = 0; arm < ARMS; arm++)
		if (has_code_arm(s, arm))
			table_column(t, 'r', arm_name[arm]);
	table_column(t, 'r', "change");
	table_column(t, 'r', "expert");
	for (task = 0; task < s->ntasks; task++) {
		for (i = 0, shown = 0; i < s->nrows; i++) {
			const struct row *r = &s->rows[i];
			double without = mean_value(&r->cell[ARM_WITHOUT].log_speed);

			if (r->task != task)
				continue;
			table_cell(t, "%s", shown ? "" : s->tasks[task]);
			table_cell(t, "%s", s->models[r->model]);
			for (arm = 0; arm < ARMS; arm++)
				if (has_code_arm(s, arm))
					cell_text(t, &r->cell[arm]);
			table_percent(t, exp(mean_value(&r->cell[ARM_WITH].log_speed) - without));
			if (shown++)
				table_cell(t, "%s", "");
			else
				table_number(t, mean_exp(&s->expert[task]), 2, "");
		}
	}
}

static void guidance(const struct score *s, struct table *t)
{
	int i;

	table_init(t, "What guidance changed");
	t->note = xstrdup("With against without, over the tasks that have the figure in both arms.");
	table_column(t, 'l', "model");
	table_column(t, 'r', "correct");
	table_column(t, 'r', "Perf. Score");
	table_column(t, 'r', "speed, both");
	table_column(t, 'r', "impl. L1");
	table_column(t, 'r', "L2");
	table_column(t, 'r', "L3");
	table_column(t, 'r', "comb.");
	table_column(t, 'r', "out tokens");
	table_column(t, 'r', "cost");
	for (i = 0; i < total_rows(s) && has_pair(s); i++) {
		const struct change *c = &total_at(s, i)->change;
		int k;

		name_cell(t, s, i);
		table_signed(t, 100 * pair_difference(&c->correct), 1, " pts");
		table_percent(t, pair_ratio_exp(&c->log_perf));
		table_percent(t, pair_ratio_exp(&c->log_speed));
		for (k = 0; k < SCORES; k++)
			table_signed(t, pair_difference(&c->plain[k]), 1, "");
		table_percent(t, pair_ratio(&c->usage[3]));
		table_percent(t, pair_ratio(&c->cost));
	}
}

void report_tables(const struct score *s, void (*put)(const struct table *t, void *ctx), void *ctx)
{
	static void (*const make[])(const struct score *, struct table *) = {
		correctness, performance, both_correct, guidance, per_task,
		table_implementation, table_design, table_tokens, table_endings, table_judgings,
	};
	size_t i;

	for (i = 0; i < sizeof make / sizeof *make && s->nmodels; i++) {
		struct table t;

		make[i](s, &t);
		if (table_rows(&t) > 0)
			put(&t, ctx);
		table_release(&t);
	}
}
