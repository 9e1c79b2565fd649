/* d2k-prompt: makes trials. It reads tasks/, workloads/, guidance/ and tools/prompt/, no records, and writes one record
 * per task, arm, model and repeat, with everything the agent is told and hashes of all that the arms of a pair share.
 *
 * The two prompts of a pair differ in the guidance block and in nothing else: the text around it is made once per task
 * and put around the block byte for byte. Asking a model, and knowing models at all, is d2k-agent's work. */
#include "buf.h"
#include "die.h"
#include "emit.h"
#include "file.h"
#include "filter.h"
#include "guidance.h"
#include "hash.h"
#include "opt.h"
#include "prompt.h"
#include "task.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct arm {
	const char *name;
	unsigned levels;	/* bit 0: L1 ... */
	bool words;		/* a design in words is asked for, no code */
};

static const struct arm arms[] = {
	{ "without", 0, false },
	{ "with", 7, false },
	{ "L1", 1, false },
	{ "L1+L2", 3, false },
	{ "design", 0, true },
};

static struct options {
	struct opt_list tasks, arms, models, repeats;
	long long nrepeats, turns;
	const char *target;
	bool list;
} o = { .nrepeats = 1, .turns = 350, .target = "sm_90" };

static const struct opt opts[] = {
	{ 't', "task", OPT_LIST, &o.tasks, "NAME", "a task; may be repeated (none: all of them)", 0, 0 },
	{ 'a', "arm", OPT_LIST, &o.arms, "ARM",
	  "without, with, L1, L1+L2 or design; may be repeated (none: without and with)", 0, 0 },
	{ 'm', "model", OPT_LIST, &o.models, "NAME",
	  "an entry of pipelines/models.json; may be repeated (none: demo)", 0, 0 },
	{ 'r', "repeat", OPT_LIST, &o.repeats, "NUMBER",
	  "make the repeat of this number; may be repeated (none: 1 to --repeats)", 0, 0 },
	{ 0, "repeats", OPT_INT, &o.nrepeats, "COUNT", "make repeats 1 to COUNT", 1, 100000 },
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

/* One arm of one task: what all its records have in common. */
struct trial {
	const struct task *task;
	const struct arm *arm;
	const struct prompt *prompt;
	struct buf user, missing;
	const char *guidance;		/* hash, or NULL */
};

/* Called for each requirement that the arm's levels leave out. */
static void note_missing(const char *id, const char *needs, void *ctx)
{
	struct trial *tr = ctx;
	char *line = xasprintf("%s requires %s", id, needs);

	warn("%s, arm %s: %s, which the arm does not give", tr->task->name, tr->arm->name, line);
	emit_str(&tr->missing, line);
	free(line);
}

static void make_trial(struct trial *tr, const struct guidance *g)
{
	const struct buf *close = tr->arm->words ? &tr->prompt->design : &tr->prompt->work;

	buf_addbuf(&tr->user, &tr->prompt->head);
	guidance_text(g, tr->arm->levels, &tr->user);
	if (tr->arm->levels)
		buf_addstr(&tr->user, "\n");
	buf_addbuf(&tr->user, close);
	emit_open(&tr->missing, '[');
	guidance_missing(g, tr->arm->levels, note_missing, tr);
	emit_close(&tr->missing, ']');
	tr->guidance = tr->arm->levels ? g->hash : NULL;
}

static void trial_release(struct trial *tr)
{
	buf_release(&tr->user);
	buf_release(&tr->missing);
}

static void emit_prompt(struct buf *b, const struct trial *tr)
{
	const struct prompt *p = tr->prompt;

	emit_open(b, '{');
	emit_kstr(b, "tool", "d2k-prompt " D2K_VERSION);
	emit_kstrn(b, "system", p->system.data, p->system.len);
	emit_kstrn(b, "user", tr->user.data, tr->user.len);
	emit_kint(b, "turns", o.turns);
	emit_kstr(b, "target", o.target);
	emit_kstr(b, "guidance", tr->guidance);
	emit_kraw(b, "missing", tr->missing.data, tr->missing.len);
	emit_key(b, "shared");
	emit_open(b, '{');
	emit_kstr(b, "task_text", p->text);
	emit_kstr(b, "workloads", tr->task->workloads_hash);
	emit_kstr(b, "oracle", tr->task->oracle_hash);
	emit_kstr(b, "tools", p->tools);
	emit_kstr(b, "target", o.target);
	emit_kint(b, "turns", o.turns);
	emit_close(b, '}');
	emit_kstr(b, "shared_hash", p->shared);
	emit_close(b, '}');
}

/* The id is a function of the trial's content alone: the same command makes the same trials tomorrow. */
static void trial_id(const struct trial *tr, const char *model, long long repeat, char hex[HASH_HEX])
{
	struct hash_parts h = { BUF_INIT };

	hash_partstr(&h, "task", tr->task->name);
	hash_partstr(&h, "arm", tr->arm->name);
	hash_partstr(&h, "model", model);
	hash_part(&h, "repeat", &repeat, sizeof repeat);
	hash_part(&h, "system", tr->prompt->system.data, tr->prompt->system.len);
	hash_part(&h, "user", tr->user.data, tr->user.len);
	hash_partstr(&h, "shared", tr->prompt->shared);
	hash_done(&h, hex);
	hex[16] = '\0';
}

static void write_record(const struct trial *tr, const char *model, long long repeat)
{
	struct buf b = BUF_INIT;
	char id[HASH_HEX];

	trial_id(tr, model, repeat, id);
	emit_open(&b, '{');
	emit_kstr(&b, "id", id);
	emit_kstr(&b, "task", tr->task->name);
	emit_kstr(&b, "arm", tr->arm->name);
	emit_key(&b, "levels");
	emit_open(&b, '[');
	for (int level = 0; level < LEVELS; level++)
		if (tr->arm->levels >> level & 1)
			emit_str(&b, (const char *const[]){ "L1", "L2", "L3" }[level]);
	emit_close(&b, ']');
	emit_kstr(&b, "model", model);
	emit_kint(&b, "repeat", repeat);
	emit_key(&b, "prompt");
	emit_prompt(&b, tr);
	emit_close(&b, '}');
	buf_addch(&b, '\n');
	fwrite(b.data, 1, b.len, stdout);
	if (fflush(stdout))
		die("cannot write to standard output:");
	buf_release(&b);
}

static const struct arm *find_arm(const char *name)
{
	for (size_t i = 0; i < sizeof arms / sizeof *arms; i++)
		if (!strcmp(arms[i].name, name))
			return &arms[i];
	die_usage("unknown arm '%s': without, with, L1, L1+L2 or design", name);
}

static long long repeat_number(const char *s)
{
	char *end;
	long long k;

	errno = 0;
	k = strtoll(s, &end, 10);
	if (errno || end == s || *end || k < 1 || k > 100000)
		die_usage("--repeat '%s' is not a whole number from 1 to 100000", s);
	return k;
}

static void write_trials(const struct trial *tr)
{
	for (int m = 0; m < o.models.n; m++) {
		for (int r = 0; r < o.repeats.n; r++)
			write_record(tr, o.models.v[m], repeat_number(o.repeats.v[r]));
		for (long long k = 1; !o.repeats.n && k <= o.nrepeats; k++)
			write_record(tr, o.models.v[m], k);
	}
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
	for (int a = 0; a < o.arms.n; a++) {
		struct trial tr = { .task = &t, .arm = find_arm(o.arms.v[a]), .prompt = &p };

		make_trial(&tr, &g);
		write_trials(&tr);
		trial_release(&tr);
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
