/* d2k-build: turns each record's submission into a bundle of compiled kernels and launch plans, and adds the section
 * `build`. The submission's Python runs in a sandbox, without a GPU; the task's baseline and expert are built beside
 * it, once. What was built before comes from the store. Nothing is executed on a GPU here: that is d2k-time's. */
#include "build.h"
#include "child.h"
#include "emit.h"
#include "file.h"
#include "filter.h"
#include "opt.h"
#include "record.h"
#include "store.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
	const char *tier, *target, *source, *task;
	double timeout;
	bool redo, embed;
} o = { .tier = "bench", .timeout = 300 };

static const struct opt opts[] = {
	{ 0, "tier", OPT_STR, &o.tier, "TIER", "workloads to record: bench, smoke or all", 0, 0 },
	{ 0, "target", OPT_STR, &o.target, "SM", "sm_90 or sm_100 (default what the record says, else sm_90)", 0, 0 },
	{ 't', "timeout", OPT_SECONDS, &o.timeout, "SECONDS", "give up on one source after this long", 0, 0 },
	{ 0, "embed", OPT_FLAG, &o.embed, NULL, "put the bundles into the record, for a host without the store", 0, 0 },
	{ 0, "redo", OPT_FLAG, &o.redo, NULL, "replace an existing section, and build again what failed before", 0, 0 },
	{ 0, "source", OPT_STR, &o.source, "FILE", "build this file instead of records; needs --task", 0, 0 },
	{ 0, "task", OPT_STR, &o.task, "NAME", "the task that --source is for", 0, 0 },
	OPT_END
};

static const struct opt_usage usage = {
	"d2k-build", "[FILE...]",
	"d2k-build --task swiglu-dual-fp8-quant --source tasks/swiglu-dual-fp8-quant/expert.py | d2k-time",
	"Reads records with a submission (section `agent`), adds the section `build`: status, log, the bundle's hash,\n"
	"facts about kernels and plans, and the hashes of the bundles of the task's baseline and expert."
};

/* One record's sources: its own, and its task's two. */
enum { CANDIDATE, BASELINE, EXPERT, SOURCES };
static const char *const leg_file[SOURCES] = { NULL, "baseline.py", "expert.py" };

static void emit_known(struct buf *out, const char *key, const char *s)
{
	emit_kstr(out, key, *s ? s : NULL);
}

static int emit_bundles(struct buf *out, const struct build *b, struct err *e)
{
	struct buf text = BUF_INIT;
	int failed = 0;

	emit_key(out, "bundles");
	emit_open(out, '{');
	for (int i = 0; i < SOURCES && !failed; i++) {
		bool twice = false;

		for (int k = 0; k < i; k++)
			twice |= !strcmp(b[i].bundle, b[k].bundle);
		if (!*b[i].bundle || twice)
			continue;
		buf_reset(&text);
		if (store_get("bundle", b[i].bundle, &text, e) == 1)
			emit_kraw(out, b[i].bundle, text.data, text.len);
		else
			failed = *e->text ? -1 : err_set(e, "bundle %s went missing", b[i].bundle);
	}
	emit_close(out, '}');
	buf_release(&text);
	return failed;
}

static int emit_section(struct buf *out, const struct build *b, const char *target, struct err *e)
{
	const struct build *own = &b[CANDIDATE];
	bool any = own->source != NULL;

	emit_open(out, '{');
	emit_kstr(out, "tool", "d2k-build " D2K_VERSION);
	emit_kstr(out, "status", build_status_name[own->status]);
	emit_kstrn(out, "log", own->log.data ? own->log.data : "", own->log.len);
	emit_kstr(out, "target", target);
	emit_kstr(out, "tier", o.tier);
	emit_known(out, "source_sha256", own->source_sha256);
	emit_known(out, "triton", own->triton);
	emit_known(out, "bundle", own->bundle);
	emit_kraw(out, "kernels", any ? own->kernels.data : "[]", any ? own->kernels.len : 2);
	emit_kraw(out, "plans", any ? own->plans.data : "[]", any ? own->plans.len : 2);
	emit_known(out, "baseline", b[BASELINE].bundle);
	emit_known(out, "expert", b[EXPERT].bundle);
	emit_knum(out, "seconds", any ? own->seconds : NAN);
	emit_knum(out, "compile_seconds", any ? own->compile_seconds : NAN);
	emit_kbool(out, "cached", own->cached);
	if (o.embed && emit_bundles(out, b, e))
		return -1;
	emit_close(out, '}');
	return 0;
}

/* A task whose own kernels do not build is the task's fault, and said once per record. */
static void tell_legs(const struct build *b, const char *where, const char *task)
{
	for (int i = BASELINE; i <= EXPERT; i++)
		if (b[i].source && b[i].status != BUILD_OK)
			warn("%s: %s of task '%s' does not build: %s: %.*s", where, leg_file[i], task,
			     build_status_name[b[i].status], (int)strcspn(b[i].log.data, "\n"), b[i].log.data);
}

static void read_legs(const struct task *t, struct build *b, struct buf *text)
{
	for (int i = BASELINE; i <= EXPERT; i++) {
		char *path = xasprintf("%s/%s", t->dir, leg_file[i]);

		if (file_exists(path) && !file_read(path, &text[i], NULL))
			b[i].source = text[i].data;
		free(path);
	}
}

static const char *wanted_target(const struct json *prompt)
{
	const char *said = json_get_str(prompt, "target");

	return o.target ? o.target : said ? said : "sm_90";
}

/* Builds and writes the section; source NULL: there is nothing to build. -1 with the reason. */
static int make_section(const char *where, const struct task *t, const char *source, const char *target,
			struct buf *out, struct err *e)
{
	struct build_for f = { .task = t, .tier = o.tier, .target = target, .timeout = o.timeout,
			       .again = o.redo };
	struct build b[SOURCES] = { [CANDIDATE] = { .source = source, .status = BUILD_NO_SUBMISSION } };
	struct buf text[SOURCES] = { BUF_INIT };
	int failed = 0;

	*e->text = '\0';
	if (source) {
		read_legs(t, b, text);
		failed = recorder_version(f.version, e) || build_all(b, SOURCES, &f, e);
	}
	if (!failed && !child_interrupted) {
		tell_legs(b, where, t->name);
		failed = emit_section(out, b, target, e);
	}
	for (int i = 0; i < SOURCES; i++) {
		build_release(&b[i]);
		buf_release(&text[i]);
	}
	return failed;
}

static bool known_target(const char *s)
{
	return !strcmp(s, "sm_90") || !strcmp(s, "sm_100");
}

static enum filter_result process(const struct record *r, struct buf *out, void *ctx)
{
	struct json *agent = NULL, *prompt = NULL;
	struct task t = { 0 };
	char name[256];
	struct err e = { "" };
	bool design;
	enum filter_result result = FILTER_BAD;

	(void)ctx;
	if (!record_str(r, "task", name, sizeof name)) {
		warn("%s: no 'task'", r->where);
		return FILTER_BAD;
	}
	agent = record_get(r, "agent", &e);
	prompt = record_get(r, "prompt", &e);
	design = json_get_str(agent, "design") && !json_get_str(agent, "submission");
	if (json_type(agent) != JSON_OBJ)
		warn("%s: no section 'agent' with a submission", r->where);
	else if (!known_target(wanted_target(prompt)))
		warn("%s: cannot build for target '%s'", r->where, wanted_target(prompt));
	else if (!design && task_load(&t, name, &e))
		warn("%s: %s", r->where, e.text);
	else if (make_section(r->where, &t, json_get_str(agent, "submission"), wanted_target(prompt), out, &e))
		warn("%s: %s", r->where, e.text);
	else
		result = FILTER_ADD;
	if (child_interrupted)
		result = FILTER_STOP;
	task_release(&t);
	json_free(agent);
	json_free(prompt);
	return result;
}

/* A record of its own around one file, as if an agent had handed it in. */
static void make_record(const char *source, struct buf *line)
{
	struct hash_parts h = { BUF_INIT };
	char hex[HASH_HEX];

	hash_partstr(&h, "task", o.task);
	hash_partstr(&h, "source", source);
	hash_done(&h, hex);
	emit_open(line, '{');
	emit_kstrn(line, "id", hex, 16);
	emit_kstr(line, "task", o.task);
	emit_kstr(line, "arm", "none");
	emit_kstr(line, "model", "file");
	emit_kint(line, "repeat", 1);
	emit_key(line, "agent");
	emit_open(line, '{');
	emit_kstr(line, "tool", "d2k-build " D2K_VERSION);
	emit_kstr(line, "status", "submitted");
	emit_kstr(line, "submission", source);
	emit_close(line, '}');
	emit_close(line, '}');
}

static int build_file(void)
{
	struct buf source = BUF_INIT, line = BUF_INIT, section = BUF_INIT, out = BUF_INIT;
	int code = EXIT_RECORD;
	struct record r;
	struct err e;

	if (file_read(o.source, &source, &e))
		die("%s", e.text);
	make_record(source.data, &line);
	if (record_open(&r, line.data, line.len, &e))
		die("%s: %s", o.source, e.text);
	snprintf(r.where, sizeof r.where, "%s", o.source);
	if (process(&r, &section, NULL) == FILTER_ADD) {
		record_put(&r, "build", &section, &out);
		buf_addch(&out, '\n');
		fwrite(out.data, 1, out.len, stdout);
		code = EXIT_DONE;
	}
	buf_release(&source);
	buf_release(&line);
	buf_release(&section);
	buf_release(&out);
	stdout_close();
	return code;
}

static void check_options(int operands)
{
	if (strcmp(o.tier, "bench") && strcmp(o.tier, "smoke") && strcmp(o.tier, "all"))
		die_usage("--tier wants bench, smoke or all, not '%s'", o.tier);
	if (o.target && !known_target(o.target))
		die_usage("--target wants sm_90 or sm_100, not '%s'", o.target);
	if (!o.source != !o.task)
		die_usage("--source and --task go together");
	if (o.source && operands)
		die_usage("--source takes no further files");
}

int main(int argc, char **argv)
{
	int operands = opt_parse(&usage, opts, argc, argv);
	struct filter f = { .section = "build", .redo = o.redo, .process = process };

	check_options(operands);
	child_catch_interrupts();
	return o.source ? build_file() : filter_run(&f, argv, operands);
}
