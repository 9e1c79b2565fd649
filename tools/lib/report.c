/* What all formats share: the warnings, the words for a rule, the table of formats. */
#include "report.h"
#include "die.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct report_format *const formats[] = { &report_text, &report_markdown, &report_json, &report_csv };

const struct report_format *report_find(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof formats / sizeof *formats; i++)
		if (!strcmp(formats[i]->name, name))
			return formats[i];
	return NULL;
}

void report_rule(const struct incorrect_rule *r, struct buf *out)
{
	if (r->kind == INCORRECT_DROP)
		buf_addstr(out, "is left out (drop)");
	else if (r->kind == INCORRECT_BASELINE)
		buf_addstr(out, "counts as the baseline, 1.0");
	else
		buf_addf(out, "counts as %g", r->value);
}

bool report_has_arm(const struct score *s, int arm)
{
	return s->all.arm[arm].trials > 0;
}

static void add_count(struct buf *out, int n, const char *what)
{
	buf_addf(out, "%d %s%s", n, what, n == 1 ? "" : "s");
}

void report_summary(const struct score *s, struct buf *out)
{
	int i;

	add_count(out, (int)s->records, "record");
	if (!s->records)
		return;
	buf_addstr(out, ", ");
	add_count(out, s->nmodels, "model");
	buf_addstr(out, ", ");
	add_count(out, s->ntasks, "task");
	buf_addstr(out, ", arms");
	for (i = 0; i < ARMS; i++)
		if (report_has_arm(s, i))
			buf_addf(out, " %s", arm_name[i]);
	for (i = 0; i < s->ndevices; i++)
		buf_addf(out, "%s%s", i ? ", " : "; measured on ", s->devices[i]);
}

/* Warnings -------------------------------------------------------------------------------------------------------- */

struct sink {
	void (*put)(const char *sentence, void *ctx);
	void *ctx;
};

static void say(const struct sink *k, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void say(const struct sink *k, const char *fmt, ...)
{
	char text[1024];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	k->put(text, k->ctx);
}

static int ended(const struct score *s, enum ending o)
{
	int arm, n = 0;

	for (arm = 0; arm < ARM_DESIGN; arm++)
		n += s->all.arm[arm].ending[o];
	return n;
}

static int judged(const struct score *s, enum judged j)
{
	int arm, n = 0;

	for (arm = 0; arm < ARMS; arm++)
		n += s->all.arm[arm].judged[j];
	return n;
}

enum { REFUSALS_SHOWN = 5 };

static void warn_pairs(const struct score *s, const struct sink *k)
{
	const struct pairing *p = &s->pairing;
	size_t i;

	for (i = 0; i < p->nrefusals && i < REFUSALS_SHOWN; i++)
		say(k, "not compared: %s and %s; their shared hashes differ (task text, workloads, tools, target or "
		    "budget)", p->refusals[i].a, p->refusals[i].b);
	if (p->nrefusals > REFUSALS_SHOWN)
		say(k, "not compared: %zu more such pairs", p->nrefusals - REFUSALS_SHOWN);
	if (p->nrefusals)
		say(k, "left out because of that: %zu of %zu records", s->left_out, s->records);
	if (p->mixed)
		say(k, "repeats with different shared hashes: %d model-task pairs", p->mixed);
	if (p->nduplicates)
		say(k, "repeated ids: %zu of %zu records do not count; the first is %s", p->nduplicates, s->records,
		    p->duplicates[0]);
	if (s->single)
		say(k, "measured in one arm only: %d model-task pairs; they take no part in what guidance changed",
		    s->single);
}

static void warn_measurements(const struct score *s, const struct sink *k)
{
	int lost = ended(s, ENDED_TOOL_ERROR) + ended(s, ENDED_UNSUPPORTED) + ended(s, ENDED_STALE);

	if (s->cpu)
		say(k, "checked on the CPU: %zu of %zu records; they count for correctness (on smoke workloads), their "
		    "times enter no score", s->cpu, s->records);
	if (s->incomparable)
		say(k, "not comparable: %zu of %zu records, timed on other than bench workloads; their times enter "
		    "no score", s->incomparable, s->records);
	if (s->ndevices - (s->cpu > 0) > 1)
		say(k, "measured on different devices: %d", s->ndevices - (s->cpu > 0));
	if (s->untimed)
		say(k, "correct without a speedup: %zu of %zu records; they enter no score", s->untimed, s->records);
	if (lost)
		say(k, "the tools failed: %d of %zu records (tool_error %d, unsupported %d, stale %d); they say "
		    "nothing about the submission and are left out of correctness", lost, s->records,
		    ended(s, ENDED_TOOL_ERROR), ended(s, ENDED_UNSUPPORTED), ended(s, ENDED_STALE));
	if (ended(s, ENDED_NOISY))
		say(k, "too few undisturbed rounds: %d of %zu records are noisy, because the device was throttled or shared; "
		    "they count nowhere until they are timed again (d2k-time --redo)", ended(s, ENDED_NOISY), s->records);
	if (ended(s, ENDED_NOT_RUN))
		say(k, "not timed: %d of %zu records have no 'time' section", ended(s, ENDED_NOT_RUN), s->records);
}

static void warn_models(const struct score *s, const struct sink *k)
{
	if (s->scripted)
		say(k, "scripted model: %zu of %zu records; a file of replies is no measurement of any model",
		    s->scripted, s->records);
	if (s->scripted_judge)
		say(k, "scripted judge: %zu of %zu records; their implementation and design scores mean nothing",
		    s->scripted_judge, s->records);
	if (judged(s, JUDGED_UNSCORED))
		say(k, "unscored: %d of %zu records; the judge's answer could not be read", judged(s, JUDGED_UNSCORED),
		    s->records);
	if (judged(s, JUDGED_NOT))
		say(k, "not judged: %d of %zu records have no 'judge' section, or one about another submission",
		    judged(s, JUDGED_NOT), s->records);
	if (s->judges > 1)
		say(k, "different judges gave the scores: %d", s->judges);
}

void report_warnings(const struct score *s, void (*put)(const char *sentence, void *ctx), void *ctx)
{
	const struct sink k = { put, ctx };

	if (s->bad)
		say(&k, "lines that could not be read as trials: %zu", s->bad);
	warn_models(s, &k);
	warn_measurements(s, &k);
	warn_pairs(s, &k);
}
