/* The report's tables, one function each: which rows, which columns, which words. */
#include "report.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Rows of totals: one per model, then all models under a line if there are several. */
static int total_rows(const struct score *s)
{
	return s->nmodels > 1 ? s->nmodels + 1 : s->nmodels;
}

static const struct total *total_at(const struct score *s, int i)
{
	return i < s->nmodels ? &s->model[i] : &s->all;
}

static void total_name(struct table *t, const struct score *s, int i)
{
	if (i == s->nmodels)
		table_rule(t);
	table_cell(t, "%s", i < s->nmodels ? s->models[i] : "all models");
}

/* Arms in which code is written. */
static bool has_code_arm(const struct score *s, int arm)
{
	return arm != ARM_DESIGN && report_has_arm(s, arm);
}

/* "+33.9 %" from a ratio. */
static void table_percent(struct table *t, double ratio)
{
	table_signed(t, 100 * (ratio - 1), 1, " %");
}

static void correctness(const struct score *s, struct table *t)
{
	int i, arm;

	table_init(t, "Correctness");
	t->note = xstrdup("Model-task pairs that are correct: every workload of the task is. A pair with several "
			  "repeats counts by the share of its correct ones.");
	table_column(t, 'l', "model");
	for (arm = 0; arm < ARMS; arm++) {
		if (!has_code_arm(s, arm))
			continue;
		table_column(t, 'r', arm_name[arm]);
		table_column(t, 'r', "share");
	}
	table_column(t, 'r', "change");
	for (i = 0; i < total_rows(s); i++) {
		const struct total *total = total_at(s, i);

		total_name(t, s, i);
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
	table_column(t, 'l', "model");
	for (arm = 0; arm < ARMS; arm++) {
		if (!has_code_arm(s, arm))
			continue;
		table_column(t, 'r', arm_name[arm]);
		table_column(t, 'r', "n");
	}
	table_column(t, 'r', "change");
	for (i = 0; i < total_rows(s); i++) {
		const struct total *total = total_at(s, i);

		total_name(t, s, i);
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
			total_name(t, s, i);
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

static void score_columns(struct table *t)
{
	static const char *const names[] = { "L1", "L2", "L3", "comb." };
	int i;

	for (i = 0; i < SCORES; i++)
		table_column(t, 'r', names[i]);
	table_column(t, 'r', "gated L1");
	for (i = 1; i < SCORES; i++)
		table_column(t, 'r', names[i]);
}

static void score_row(struct table *t, const char *model, const char *arm, const struct arm_total *a)
{
	int i;

	table_cell(t, "%s", model);
	if (arm)
		table_cell(t, "%s", arm);
	table_cell(t, "%d", a->plain[COMBINED].n);
	for (i = 0; i < SCORES; i++)
		table_number(t, mean_value(&a->plain[i]), 1, "");
	for (i = 0; i < SCORES; i++)
		table_number(t, mean_value(&a->gated[i]), 1, "");
}

static void score_change_row(struct table *t, const struct change *c)
{
	int i;

	table_cell(t, "%s", "");
	table_cell(t, "change");
	table_cell(t, "%d", c->plain[COMBINED].with.n);
	for (i = 0; i < SCORES; i++)
		table_signed(t, pair_difference(&c->plain[i]), 1, "");
	for (i = 0; i < SCORES; i++)
		table_signed(t, pair_difference(&c->gated[i]), 1, "");
}

static void implementation(const struct score *s, struct table *t)
{
	int i, arm;

	table_init(t, "Implementation score");
	t->note = xstrdup("Which properties of the expert's design the source has, 0 to 100, by level and their mean; "
			  "gated: a property counts only if what it requires is there too. Mean over n judged tasks; "
			  "the change is over those judged in both arms.");
	table_column(t, 'l', "model");
	table_column(t, 'l', "arm");
	table_column(t, 'r', "n");
	score_columns(t);
	for (i = 0; i < total_rows(s); i++) {
		const struct total *total = total_at(s, i);
		bool first = true;

		if (i == s->nmodels)
			table_rule(t);
		for (arm = 0; arm < ARMS; arm++) {
			if (!has_code_arm(s, arm))
				continue;
			score_row(t, !first ? "" : i < s->nmodels ? s->models[i] : "all models", arm_name[arm],
				  &total->arm[arm]);
			first = false;
		}
		if (report_has_arm(s, ARM_WITH) && report_has_arm(s, ARM_WITHOUT))
			score_change_row(t, &total->change);
	}
}

static void design(const struct score *s, struct table *t)
{
	int i;

	table_init(t, "Design score");
	t->note = xstrdup("The same for designs proposed in words, without code and without guidance.");
	table_column(t, 'l', "model");
	table_column(t, 'r', "n");
	score_columns(t);
	for (i = 0; i < total_rows(s) && report_has_arm(s, ARM_DESIGN); i++) {
		if (i == s->nmodels)
			table_rule(t);
		score_row(t, i < s->nmodels ? s->models[i] : "all models", NULL, &total_at(s, i)->arm[ARM_DESIGN]);
	}
}

/* A sum over trials; "*" when not all of them know theirs. */
static void sum_cell(struct table *t, const struct mean *m, int trials, int decimals)
{
	static const struct { double from; const char *unit; } scale[] = {
		{ 1e12, "T" }, { 1e9, "G" }, { 1e6, "M" }, { 1e4, "k" }, { 0, "" },
	};
	const char *mark = m->n < trials ? "*" : "";
	int i = 0;

	if (!m->n) {
		table_cell(t, "-");
		return;
	}
	if (decimals) {
		table_cell(t, "%.*f%s", decimals, m->sum, mark);
		return;
	}
	while (m->sum < scale[i].from)
		i++;
	if (*scale[i].unit)
		table_cell(t, "%.2f%s%s", m->sum / (scale[i].from == 1e4 ? 1e3 : scale[i].from), scale[i].unit, mark);
	else
		table_cell(t, "%.0f%s", m->sum, mark);
}

static void tokens_row(struct table *t, const char *model, const char *arm, const struct arm_total *a)
{
	int i;

	table_cell(t, "%s", model);
	table_cell(t, "%s", arm);
	table_cell(t, "%d", a->trials);
	for (i = 0; i < CLASSES; i++)
		sum_cell(t, &a->usage[i], a->trials, 0);
	sum_cell(t, &a->cost, a->trials, 2);
}

static void tokens_change_row(struct table *t, const struct change *c)
{
	int i;

	table_cell(t, "%s", "");
	table_cell(t, "change");
	table_cell(t, "%s", "");
	for (i = 0; i < CLASSES; i++)
		table_percent(t, pair_ratio(&c->usage[i]));
	table_percent(t, pair_ratio(&c->cost));
}

static void tokens(const struct score *s, struct table *t)
{
	int i, arm;

	table_init(t, "Tokens and cost of the agents");
	t->note = xstrdup("Sums over trials (reasoning is part of out; *: not every trial knows it). The change "
			  "compares one repeat of each task that knows it in both arms.");
	table_column(t, 'l', "model");
	table_column(t, 'l', "arm");
	table_column(t, 'r', "trials");
	table_column(t, 'r', "fresh in");
	table_column(t, 'r', "cache read");
	table_column(t, 'r', "cache write");
	table_column(t, 'r', "out");
	table_column(t, 'r', "reasoning");
	table_column(t, 'r', "US dollars");
	for (i = 0; i < total_rows(s); i++) {
		const struct total *total = total_at(s, i);
		bool first = true;

		if (i == s->nmodels)
			table_rule(t);
		for (arm = 0; arm < ARMS; arm++) {
			if (!report_has_arm(s, arm))
				continue;
			tokens_row(t, !first ? "" : i < s->nmodels ? s->models[i] : "all models", arm_name[arm],
				   &total->arm[arm]);
			first = false;
		}
		if (report_has_arm(s, ARM_WITH) && report_has_arm(s, ARM_WITHOUT))
			tokens_change_row(t, &total->change);
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
	for (i = 0; i < total_rows(s) && report_has_arm(s, ARM_WITH) && report_has_arm(s, ARM_WITHOUT); i++) {
		const struct change *c = &total_at(s, i)->change;
		int k;

		total_name(t, s, i);
		table_signed(t, 100 * pair_difference(&c->correct), 1, " pts");
		table_percent(t, pair_ratio_exp(&c->log_perf));
		table_percent(t, pair_ratio_exp(&c->log_speed));
		for (k = 0; k < SCORES; k++)
			table_signed(t, pair_difference(&c->plain[k]), 1, "");
		table_percent(t, pair_ratio(&c->usage[3]));
		table_percent(t, pair_ratio(&c->cost));
	}
}

/* What the tools did not manage is one column. */
static int count_of(const struct arm_total *a, int column, bool judging)
{
	if (judging)
		return a->judged[column];
	if (column == ENDED_TOOL_ERROR)
		return a->ending[ENDED_TOOL_ERROR] + a->ending[ENDED_UNSUPPORTED] + a->ending[ENDED_STALE];
	return a->ending[column];
}

/* One row per model and arm. */
static void count_rows(const struct score *s, struct table *t, const int *columns, int n, bool judging)
{
	int i, arm, k;

	for (i = 0; i < s->nmodels; i++) {
		bool first = true;

		for (arm = 0; arm < ARMS; arm++) {
			const struct arm_total *a = &s->model[i].arm[arm];

			if (!a->trials || (arm == ARM_DESIGN && !judging))
				continue;
			table_cell(t, "%s", first ? s->models[i] : "");
			table_cell(t, "%s", arm_name[arm]);
			for (k = 0; k < n; k++)
				table_cell(t, "%d", count_of(a, columns[k], judging));
			first = false;
		}
	}
}

static void count_columns(struct table *t, const char *const *names, const int *columns, int n)
{
	int k;

	table_column(t, 'l', "model");
	table_column(t, 'l', "arm");
	for (k = 0; k < n; k++) {
		char *p, *name = xstrdup(names[columns[k]]);

		for (p = name; *p; p++)
			if (*p == '_')
				*p = ' ';
		table_column(t, 'r', name);
		free(name);
	}
}

static void timings(const struct score *s, struct table *t)
{
	static const int columns[] = {
		ENDED_CORRECT, ENDED_WRONG, ENDED_FAULT, ENDED_TIMEOUT, ENDED_INVALID, ENDED_NOT_BUILT,
		ENDED_NOT_RUN, ENDED_TOOL_ERROR,
	};
	const int n = sizeof columns / sizeof *columns;

	table_init(t, "How the trials ended");
	t->note = xstrdup("Not run, tool error (also unsupported and stale): nothing is known about the submission, "
			  "and it counts nowhere.");
	count_columns(t, ending_name, columns, n);
	count_rows(s, t, columns, n, false);
}

static void judgings(const struct score *s, struct table *t)
{
	static const int columns[] = { JUDGED_SCORED, JUDGED_UNSCORED, JUDGED_NOTHING, JUDGED_NOT };
	const int n = sizeof columns / sizeof *columns;

	table_init(t, "How the judging ended");
	t->note = xstrdup("Unscored: the judge's answer could not be read; it is neither a pass nor a zero.");
	count_columns(t, judged_name, columns, n);
	count_rows(s, t, columns, n, true);
}

void report_tables(const struct score *s, void (*put)(const struct table *t, void *ctx), void *ctx)
{
	static void (*const make[])(const struct score *, struct table *) = {
		correctness, performance, both_correct, guidance, per_task, implementation, design, tokens, timings,
		judgings,
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
