/* d2k-prompt: makes trials. It reads tasks/, workloads/, guidance/ and tools/prompt/, no records, and writes one record
 * per task, arm, model and repeat, with everything the agent is told and hashes of all that the arms of a pair share.
 *
 * The two prompts of a pair differ in the guidance block and in nothing else: the text around it is made once per task
 * and put around the block byte for byte. Asking a model, and knowing models at all, is d2k-agent's work. */
#include "arm.h"
#include "assignment.h"
#include "buf.h"
#include "die.h"
#include "file.h"
#include "filter.h"
#include "guidance.h"
#include "opt.h"
#include "prompt.h"
#include "task.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPEATS_MAX = 100000 };

static struct options {
	struct opt_list tasks, arms, models, repeats;
	long long nrepeats, turns;
	const char *target;
	bool list;
} o = { .nrepeats = 1, .turns = 350, .target = "sm_90" };

static const struct opt opts[] = {
	{ 't', "task", OPT_LIST, &o.tasks, "NAME", "a task (default all)", 0, 0 },
	{ 'a', "arm", OPT_LIST, &o.arms, "ARM", ARM_NAMES " (default without and with)", 0, 0 },
	{ 'm', "model", OPT_LIST, &o.models, "NAME", "an entry of pipelines/models.json (default demo)", 0, 0 },
	{ 'r', "repeat", OPT_LIST, &o.repeats, "NUMBER", "make the repeat of this number (default 1 to --repeats)", 0, 0 },
	{ 0, "repeats", OPT_INT, &o.nrepeats, "COUNT", "make repeats 1 to COUNT", 1, REPEATS_MAX },
	{ 0, "turns", OPT_INT, &o.turns, "COUNT", "the agent's budget, in replies of the model", 1, 1000000 },
	{ 0, "target", OPT_STR, &o.target, "ARCH", "what kernels are compiled for: sm_90 or sm_100", 0, 0 },
	{ 'l', "list", OPT_FLAG, &o.list, NULL, "print tasks and workloads instead of trials", 0, 0 },
	OPT_END
};

static const struct opt_usage usage = {
	"d2k-prompt", "",
	"d2k-prompt --task swiglu-dual-fp8-quant --model demo | d2k-agent | d2k-build | d2k-time",
	"Makes trials, one record a line: every task x arm x model x repeat asked for. Each record holds the whole\n"
	"prompt, the turn budget, the target, and hashes of what the arms of a pair share. Reads no records.",
};

static void load_task(const char *name, struct task *t, struct workload **w, int *n)
{
	struct err e;

	if (task_load(t, name, &e) || workloads_load(t, w, n, &e))
		die("%s", e.text);
}

static enum arm find_arm(const char *name)
{
	int arm = arm_find(name);

	if (arm < 0)
		die_usage("unknown arm '%s': " ARM_NAMES, name);
	return (enum arm)arm;
}

static long long repeat_number(const char *s)
{
	return opt_whole("repeat", s, 1, REPEATS_MAX);
}

static void write_trial(const struct assignment *a, const char *model, long long repeat)
{
	struct buf b = BUF_INIT;

	assignment_emit(&b, a, model, repeat);
	buf_addch(&b, '\n');
	fwrite(b.data, 1, b.len, stdout);
	if (fflush(stdout))
		die("cannot write to stdout:");
	buf_release(&b);
}

static void write_trials(const struct assignment *a)
{
	for (int m = 0; m < o.models.n; m++) {
		for (int r = 0; r < o.repeats.n; r++)
			write_trial(a, o.models.v[m], repeat_number(o.repeats.v[r]));
		for (long long k = 1; !o.repeats.n && k <= o.nrepeats; k++)
			write_trial(a, o.models.v[m], k);
	}
}

/* Called for each requirement that the arm's levels leave out. */
static void warn_missing(const char *id, const char *needs, void *ctx)
{
	const struct assignment *a = ctx;

	warn("%s, arm %s: %s requires %s, which the arm does not give", a->task->name, arm_name[a->arm], id, needs);
}

static void make_task(const char *name)
{
	struct task t;
	struct workload *w;
	struct guidance g;
	struct prompt p;
	struct err e;
	int n;

	load_task(name, &t, &w, &n);
	if (guidance_load(&g, name, &e) || prompt_make(&p, &t, w, n, o.target, o.turns, &e))
		die("%s", e.text);
	for (int i = 0; i < o.arms.n; i++) {
		struct assignment a;

		assignment_make(&a, find_arm(o.arms.v[i]), &t, &p, &g);
		guidance_missing(&g, arm_levels[a.arm], warn_missing, &a);
		write_trials(&a);
		assignment_release(&a);
	}
	prompt_release(&p);
	guidance_release(&g);
	workloads_free(w, n);
	task_release(&t);
}

/* A line per workload, fields apart by a tab: task, workload, tier, dimensions and parameters, origin. */
static void list_task(const char *name)
{
	struct task t;
	struct workload *w;
	struct buf b = BUF_INIT;
	int n;

	load_task(name, &t, &w, &n);
	for (int i = 0; i < n; i++) {
		buf_addf(&b, "%s\t%s\t%s\t", name, w[i].id, w[i].tier);
		for (int k = 0; k < w[i].nvars; k++) {
			buf_addf(&b, "%s%s=", k ? " " : "", w[i].vars[k].name);
			prompt_number(&b, w[i].vars[k].value);
		}
		buf_addf(&b, "\t%s\n", w[i].origin);
	}
	fwrite(b.data, 1, b.len, stdout);
	buf_release(&b);
	workloads_free(w, n);
	task_release(&t);
}

/* An empty list gets its defaults; a value given twice would make the same trial twice. */
static void settle(struct opt_list *list, const char *option, const char *const *defaults, int n)
{
	if (!list->n && n) {
		list->v = xcalloc((size_t)n + 1, sizeof *list->v);
		memcpy(list->v, defaults, (size_t)n * sizeof *list->v);
		list->n = n;
	}
	for (int i = 0; i < list->n; i++) {
		if (!*list->v[i])
			die_usage("--%s needs a value", option);
		for (int k = 0; k < i; k++)
			if (!strcmp(list->v[i], list->v[k]))
				die_usage("--%s '%s' is given twice", option, list->v[i]);
	}
}

static void check_task(const char *name, char *const *known, int n)
{
	for (int i = 0; i < n; i++)
		if (!strcmp(known[i], name))
			return;
	die_usage("unknown task '%s' (d2k-prompt --list prints them)", name);
}

static void check_target(void)
{
	char *path;
	bool described;

	if (strncmp(o.target, "sm_", 3) || strspn(o.target + 3, "0123456789a") != strlen(o.target + 3))
		die_usage("--target '%s' is not of the form sm_90", o.target);
	path = file_in_root("tools/prompt/%s.md", o.target);
	described = file_exists(path);
	free(path);
	if (!described)
		die_usage("--target '%s' has no description (tools/prompt/%s.md)", o.target, o.target);
}

/* Everything wrong with the command line is found before the first record is written. */
static void check_options(char *const *known, int nknown)
{
	settle(&o.tasks, "task", (const char *const *)known, nknown);
	settle(&o.arms, "arm", (const char *const[]){ "without", "with" }, 2);
	settle(&o.models, "model", (const char *const[]){ "demo" }, 1);
	settle(&o.repeats, "repeat", NULL, 0);
	for (int i = 0; i < o.tasks.n; i++)
		check_task(o.tasks.v[i], known, nknown);
	for (int i = 0; i < o.arms.n; i++)
		find_arm(o.arms.v[i]);
	for (int i = 0; i < o.repeats.n; i++)
		repeat_number(o.repeats.v[i]);
	check_target();
}

int main(int argc, char **argv)
{
	static char **known;	/* kept, however the program ends */
	struct err e;
	int nknown;

	if (opt_parse(&usage, opts, argc, argv))
		die_usage("unexpected argument '%s'", argv[0]);
	if (task_names(&known, &nknown, &e))
		die("%s", e.text);
	check_options(known, nknown);
	for (int i = 0; i < o.tasks.n; i++)
		o.list ? list_task(o.tasks.v[i]) : make_task(o.tasks.v[i]);
	stdout_close();
	return EXIT_DONE;
}
