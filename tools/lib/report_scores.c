/* Tables of what was judged, what was used up, and how trials and judgings ended. */
#include "report_tables.h"
#include <stdlib.h>

/* For each model a row per arm, then what guidance changed. */
static void rows_by_arm(const struct score *s, struct table *t, bool designs,
			void (*row)(struct table *t, const char *model, const char *arm, const struct arm_total *a),
			void (*change)(struct table *t, const struct change *c))
{
	for (int i = 0; i < total_rows(s); i++) {
		const struct total *total = total_at(s, i);
		const char *model = total_name(s, i);

		total_rule(t, s, i);
		for (int arm = 0; arm < ARMS; arm++) {
			if (!report_has_arm(s, arm) || (arm == ARM_DESIGN && !designs))
				continue;
			row(t, model, arm_name[arm], &total->arm[arm]);
			model = "";
		}
		if (has_pair(s))
			change(t, &total->change);
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

void table_implementation(const struct score *s, struct table *t)
{
	table_init(t, "Implementation score");
	t->note = xstrdup("Which properties of the expert's design the source has, 0 to 100, by level and their mean; "
			  "gated: a property counts only if what it requires is there too. Mean over n judged tasks; "
			  "the change is over those judged in both arms.");
	table_column(t, 'l', "model");
	table_column(t, 'l', "arm");
	table_column(t, 'r', "n");
	score_columns(t);
	rows_by_arm(s, t, false, score_row, score_change_row);
}

void table_design(const struct score *s, struct table *t)
{
	int i;

	table_init(t, "Design score");
	t->note = xstrdup("The same for designs proposed in words, without code and without guidance.");
	table_column(t, 'l', "model");
	table_column(t, 'r', "n");
	score_columns(t);
	for (i = 0; i < total_rows(s) && report_has_arm(s, ARM_DESIGN); i++) {
		total_rule(t, s, i);
		score_row(t, total_name(s, i), NULL, &total_at(s, i)->arm[ARM_DESIGN]);
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

void table_tokens(const struct score *s, struct table *t)
{
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
	rows_by_arm(s, t, true, tokens_row, tokens_change_row);
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

void table_endings(const struct score *s, struct table *t)
{
	static const int columns[] = {
		ENDED_CORRECT, ENDED_WRONG, ENDED_FAULT, ENDED_TIMEOUT, ENDED_INVALID, ENDED_NOT_BUILT,
		ENDED_NOT_RUN, ENDED_NOISY, ENDED_TOOL_ERROR,
	};
	const int n = sizeof columns / sizeof *columns;

	table_init(t, "How the trials ended");
	t->note = xstrdup("Not run, noisy, tool error (also unsupported and stale): nothing is known about the submission, "
			  "and it counts nowhere.");
	count_columns(t, ending_name, columns, n);
	count_rows(s, t, columns, n, false);
}

void table_judgings(const struct score *s, struct table *t)
{
	static const int columns[] = { JUDGED_SCORED, JUDGED_UNSCORED, JUDGED_NOTHING, JUDGED_NOT };
	const int n = sizeof columns / sizeof *columns;

	table_init(t, "How the judging ended");
	t->note = xstrdup("Unscored: the judge's answer could not be read; it is neither a pass nor a zero.");
	count_columns(t, judged_name, columns, n);
	count_rows(s, t, columns, n, true);
}
