/* d2k-judge: has a language model read what an agent handed in, and adds `judge`: which properties of an expert's
 * design it has, shown by quotes, and the scores that follow.
 *
 * The judge is asked about the source (or the design in words), the task's text and the list of properties; times, arm,
 * model and build log never reach it (inquiry.h). What it answers is checked here (verdict.h): an answer that cannot be
 * read is no score, a verdict without evidence counts as "no". */
#include "arm.h"
#include "child.h"
#include "emit.h"
#include "file.h"
#include "filter.h"
#include "judging.h"
#include "opt.h"
#include "task.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct options {
	const char *judge, *models;
	long long retries;
	double max_wait, timeout;
	bool redo, show;
} o = { .retries = 1, .max_wait = 600, .timeout = 1800 };

static const struct opt opts[] = {
	{ 'j', "judge", OPT_STR, &o.judge, "NAME", "an entry of the models file, or script:FILE; must be given", 0, 0 },
	{ 0, "models", OPT_STR, &o.models, "FILE", "the models (default pipelines/models.json of the project)", 0, 0 },
	{ 0, "retries", OPT_INT, &o.retries, "COUNT", "ask again after an answer that cannot be read", 0, 10 },
	{ 0, "max-wait", OPT_SECONDS, &o.max_wait, "SECONDS", "go on this long for one answer whose requests fail, then leave the record for later", 0, 0 },
	{ 0, "timeout", OPT_SECONDS, &o.timeout, "SECONDS", "give up on one request after this long", 0, 0 },
	{ 0, "redo", OPT_FLAG, &o.redo, NULL, "replace an existing section", 0, 0 },
	{ 0, "show-request", OPT_FLAG, &o.show, NULL,
	  "ask nobody: print what would be asked, one JSON line a record", 0, 0 },
	OPT_END
};

static const struct opt_usage usage = {
	"d2k-judge", "[FILE...]",
	"d2k-judge --judge demo-judge --redo out/demo/records.jsonl >out/demo/rejudged.jsonl",
	"Reads records with `agent` and adds `judge`: a verdict per design property, its quotes checked against the\n"
	"source, and scores from 0 to 100 per level. The judge sees no time, no arm, no model and no build log.",
};

/* What stays the same from record to record of one task. */
struct context {
	char *task;
	struct guidance guidance;
	struct model *model;
};

static void context_release(struct context *c)
{
	if (c->model)
		model_close(c->model);
	if (c->task)
		guidance_release(&c->guidance);
	free(c->task);
	*c = (struct context){ 0 };
}

static int context_load(struct context *c, const char *task, struct err *e)
{
	if (c->task && !strcmp(c->task, task))
		return 0;
	context_release(c);
	if (guidance_load(&c->guidance, task, e))
		return -1;
	c->task = xstrdup(task);
	if (o.show)
		return 0;
	c->model = model_open(o.models, o.judge, task, NULL, e);
	if (!c->model) {
		context_release(c);
		return -1;
	}
	model_limits(c->model, o.max_wait, o.timeout);
	return 0;
}

/* What is to be judged? The arm decides which member of the agent's section is looked at, and goes no further. */
static void choose_material(struct judging *j, const struct record *r, const struct json *agent)
{
	char arm[32];

	if (record_str(r, "arm", arm, sizeof arm) && arm_find(arm) == ARM_DESIGN)
		j->kind = INQUIRY_DESIGN;
	j->material = json_get_str(agent, j->kind == INQUIRY_DESIGN ? "design" : "submission");
}

/* Everything up to the question: 0, or -1 and why. *agent owns what is judged. */
static int prepare(const struct record *r, struct context *c, struct judging *j, struct json **agent, struct err *e)
{
	char task[128];

	if (!record_str(r, "task", task, sizeof task) || !task_is_name(task))
		return err_set(e, "'task' is no task's name");
	*agent = record_get(r, "agent", NULL);
	if (json_type(*agent) != JSON_OBJ)
		return err_set(e, "no 'agent' section: d2k-agent comes first");
	if (context_load(c, task, e))
		return -1;
	choose_material(j, r, *agent);
	return judging_start(j, &c->guidance, e);
}

static enum filter_result ask_and_emit(const struct record *r, struct context *c, struct judging *j, struct buf *out)
{
	struct err e = { "" };
	enum model_end end = judging_ask(j, c->model, &c->guidance, (int)o.retries, &e);

	if (end == MODEL_OK) {
		judging_emit(out, j, o.judge, c->model, &c->guidance);
		return FILTER_ADD;
	}
	if (child_interrupted)
		return FILTER_STOP;
	warn("%s: judge '%s': %s", r->where, o.judge, e.text);
	return end == MODEL_AGAIN ? FILTER_AGAIN : FILTER_BAD;
}

static enum filter_result process(const struct record *r, struct buf *out, void *ctx)
{
	enum filter_result result = FILTER_BAD;
	struct judging j = { 0 };
	struct json *agent = NULL;
	struct err e = { "" };

	if (prepare(r, ctx, &j, &agent, &e))
		warn("%s: %s", r->where, e.text);
	else
		result = ask_and_emit(r, ctx, &j, out);
	judging_release(&j);
	json_free(agent);
	return result;
}

static void print_request(const struct judging *j)
{
	struct buf b = BUF_INIT;

	emit_open(&b, '{');
	emit_kstrn(&b, "system", j->inquiry.system.data, j->inquiry.system.len);
	emit_kstrn(&b, "user", j->inquiry.user.data, j->inquiry.user.len);
	emit_close(&b, '}');
	puts(b.data);
	buf_release(&b);
}

static int show_requests(struct context *c, char *const *files, int n)
{
	struct reader *rd = reader_open(files, n);
	struct record r;
	int bad_lines = 0, bad = 0;

	while (reader_next(rd, &r, &bad_lines)) {
		struct judging j = { 0 };
		struct json *agent = NULL;
		struct err e = { "" };

		if (prepare(&r, c, &j, &agent, &e)) {
			warn("%s: %s", r.where, e.text);
			bad++;
		} else if (j.status == JUDGING_NOTHING) {
			warn("%s: nothing to judge: %s", r.where, j.reason.text);
		} else {
			print_request(&j);
		}
		judging_release(&j);
		json_free(agent);
	}
	reader_close(rd);
	stdout_close();
	return bad + bad_lines ? EXIT_RECORD : EXIT_DONE;
}

int main(int argc, char **argv)
{
	int n = opt_parse(&usage, opts, argc, argv), code;
	struct context c = { 0 };
	struct filter f = { "judge", o.redo, process, &c };

	if (!o.judge && !o.show)
		die_usage("--judge NAME must be given");
	if (!o.models)
		o.models = file_in_root("pipelines/models.json");
	child_catch_interrupts();
	code = o.show ? show_requests(&c, argv, n) : filter_run(&f, argv, n);
	context_release(&c);
	return code;
}
