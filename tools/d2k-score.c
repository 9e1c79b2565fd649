/* d2k-score: reads all records and prints one report: what the models reached without and with guidance, and what
 * guidance changed. It measures, builds and judges nothing; every figure comes from the records (score.h says how), and
 * whatever makes a figure doubtful stands on top of the report. */
#include "filter.h"
#include "opt.h"
#include "report.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct options {
	const char *format, *incorrect;
} o = { .format = "text", .incorrect = "baseline" };

static const struct opt opts[] = {
	{ 'f', "format", OPT_STR, &o.format, "FORMAT", "text, json, markdown or csv", 0, 0 },
	{ 'i', "incorrect", OPT_STR, &o.incorrect, "RULE",
	  "what a task without a correct submission counts as: baseline, drop, or a speedup", 0, 0 },
	OPT_END
};

static const struct opt_usage usage = {
	"d2k-score", "[FILE...]",
	"d2k-score --format markdown out/demo/records.jsonl >report.md",
	"Reads all records and prints one report: correctness, Performance Score, speedups, implementation and design\n"
	"scores, tokens and cost, per model and arm, and what guidance changed.",
};

/* rule = "baseline" | "drop" | "torch" | a number above 0 */
static struct incorrect_rule read_rule(const char *s)
{
	double x;
	char *end;

	if (!strcmp(s, "baseline"))
		return (struct incorrect_rule){ INCORRECT_BASELINE, 1 };
	if (!strcmp(s, "drop"))
		return (struct incorrect_rule){ INCORRECT_DROP, NAN };
	if (!strcmp(s, "torch"))
		die_usage("--incorrect torch: PyTorch is not timed in these records; give its speedup over the "
			  "baseline as a number");
	errno = 0;
	x = strtod(s, &end);
	if (errno || end == s || *end || !(x > 0) || isinf(x))
		die_usage("--incorrect wants baseline, drop or a number above 0, not '%s'", s);
	return (struct incorrect_rule){ INCORRECT_NUMBER, x };
}

static int read_trials(struct trials *t, char *const *files, int n)
{
	struct reader *rd = reader_open(files, n);
	struct record r;
	struct err e;
	int bad_lines = 0, bad_trials = 0;

	while (reader_next(rd, &r, &bad_lines)) {
		struct trial *tr = trials_add(t);

		if (!trial_read(tr, &r, &e))
			continue;
		warn("%s: %s", r.where, e.text);
		trial_release(tr);
		t->n--;
		bad_trials++;
	}
	reader_close(rd);
	return bad_lines + bad_trials;
}

static void warn_refused(const struct pairing *p)
{
	size_t i;

	for (i = 0; i < p->nrefusals; i++)
		warn("'%s' and '%s' are not compared: their shared hashes differ", p->refusals[i].a, p->refusals[i].b);
}

static void print_report(const struct report_format *format, const struct score *s)
{
	struct buf out = BUF_INIT;

	format->print(s, &out);
	fwrite(out.data, 1, out.len, stdout);
	buf_release(&out);
	stdout_close();
}

int main(int argc, char **argv)
{
	int n = opt_parse(&usage, opts, argc, argv), bad;
	const struct report_format *format = report_find(o.format);
	struct incorrect_rule rule = read_rule(o.incorrect);
	struct trials trials = { 0 };
	struct score score;
	bool refused;

	if (!format)
		die_usage("--format wants text, json, markdown or csv, not '%s'", o.format);
	bad = read_trials(&trials, argv, n);
	score_compute(&score, &trials, &rule, (size_t)bad);
	warn_refused(&score.pairing);
	print_report(format, &score);
	refused = score.pairing.nrefusals > 0;
	score_release(&score);
	trials_release(&trials);
	return bad || refused ? EXIT_RECORD : EXIT_DONE;
}
