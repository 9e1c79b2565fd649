/* d2k-agent: works through trials. It reads the records that d2k-prompt made, lets the named model work on each with
 * the tools of tools/agent/tools.json until it hands in a submission or its budget ends, and adds the section `agent`.
 *
 * The loop is in tools/lib/run.c, the model in model.c, each tool in toolrun.c. Nothing is judged here: what `check`
 * says comes from the pipeline the user names. One trial at a time; GNU parallel runs many. */
#include "child.h"
#include "die.h"
#include "file.h"
#include "filter.h"
#include "model.h"
#include "opt.h"
#include "run.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct options {
	struct run_options run;
	bool redo, verbose;
} o = { .run = { .runs = "runs", .evaluator = { "d2k-build | d2k-time", NULL, 1800 }, .timeout = 1e6,
		 .max_wait = 600, .request_timeout = 1800 } };

static const struct opt opts[] = {
	{ 0, "runs", OPT_STR, &o.run.runs, "DIR", "where each run keeps its transcript and workspace, in DIR/ID", 0, 0 },
	{ 0, "models", OPT_STR, &o.run.models, "FILE", "the models (default pipelines/models.json of the project)", 0, 0 },
	{ 'c', "check", OPT_STR, &o.run.evaluator.pipeline, "PIPELINE", "what check runs", 0, 0 },
	{ 0, "profile", OPT_STR, &o.run.evaluator.profile, "PIPELINE",
	  "what profile runs (default that of --check, its d2k-time with --profile)", 0, 0 },
	{ 0, "check-timeout", OPT_SECONDS, &o.run.evaluator.timeout, "SECONDS", "give up on one check after this long",
	  0, 0 },
	{ 0, "turns", OPT_INT, &o.run.turns, "COUNT", "turns for each trial (0: as its prompt says)", 0, 1000000 },
	{ 't', "timeout", OPT_SECONDS, &o.run.timeout, "SECONDS", "time for each trial, looked at between turns", 0, 0 },
	{ 0, "request-timeout", OPT_SECONDS, &o.run.request_timeout, "SECONDS",
	  "give up on one request after this long", 0, 0 },
	{ 0, "max-wait", OPT_SECONDS, &o.run.max_wait, "SECONDS",
	  "go on this long for one reply whose requests fail, then leave the trial for later", 0, 0 },
	{ 0, "redo", OPT_FLAG, &o.redo, NULL, "replace an existing section: set the finished run aside and work anew",
	  0, 0 },
	{ 'v', "verbose", OPT_FLAG, &o.verbose, NULL, "say what each turn did, also when stderr is no terminal", 0, 0 },
	OPT_END
};

static const struct opt_usage usage = {
	"d2k-agent", "[FILE...]",
	"d2k-prompt --task swiglu-dual-fp8-quant --model demo | d2k-agent --check 'd2k-build | d2k-time --device cpu'",
	"Reads trials, lets the model of each work with its tools, and adds the section `agent`: how it ended, the\n"
	"submission, turns, tool calls, tokens, cost, transcript. A run that was broken off goes on where it was.",
};

/* Tools named in a --check are found beside this one first. */
static void put_own_folder_first(void)
{
	char *self = realpath("/proc/self/exe", NULL), *slash = self ? strrchr(self, '/') : NULL, *path;
	const char *old = getenv("PATH");

	if (!slash)
		die("cannot find the folder of this program:");
	*slash = '\0';
	path = xasprintf("%s:%s", self, old ? old : "/usr/local/bin:/usr/bin:/bin");
	if (setenv("PATH", path, 1))
		die("cannot set PATH:");
	free(path);
	free(self);
}

/* The pipeline of check, for profile: its last command is told --profile, where that is d2k-time. */
static void choose_profile(struct evaluator *v)
{
	const char *bar = strrchr(v->pipeline, '|');

	if (!v->profile && strstr(bar ? bar : v->pipeline, "d2k-time"))
		v->profile = xasprintf("%s --profile", v->pipeline);
}

static enum filter_result report(enum run_end end, const struct record *r, const struct err *e)
{
	if (end == RUN_DONE)
		return FILTER_ADD;
	warn("%s: %s", r->where, e->text);
	if (end == RUN_BAD)
		return FILTER_BAD;
	return child_interrupted ? FILTER_STOP : FILTER_AGAIN;
}

static enum filter_result process(const struct record *r, struct buf *out, void *ctx)
{
	struct err e = { "" };
	struct run run;
	enum run_end end = run_open(&run, &o.run, r, record_has(r, "agent"), &e);

	(void)ctx;
	if (end == RUN_DONE)
		end = run_work(&run, &e);
	if (end == RUN_DONE && run_section(&run, out, &e))
		end = RUN_BAD;
	run_release(&run);
	return report(end, r, &e);
}

int main(int argc, char **argv)
{
	struct filter f = { .section = "agent", .process = process };
	int n = opt_parse(&usage, opts, argc, argv);
	struct err e;

	f.redo = o.redo;
	o.run.progress = o.verbose || isatty(STDERR_FILENO);
	if (!o.run.models)
		o.run.models = file_in_root("pipelines/models.json");
	if (model_hide_keys(o.run.models, &e))
		die("%s", e.text);
	put_own_folder_first();
	choose_profile(&o.run.evaluator);
	child_catch_interrupts();
	return filter_run(&f, argv, n);
}
