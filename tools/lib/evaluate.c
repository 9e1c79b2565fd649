/* check and profile: running the pipeline, reading its record. */
#include "evaluate.h"
#include "child.h"
#include "emit.h"
#include "hash.h"
#include "json.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { RECORD_MAX = 256 << 20 };

/* Input ----------------------------------------------------------------------------------------------------------- */

static bool is_section(struct span key)
{
	static const char *const sections[] = { "agent", "build", "time", "judge" };

	for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
		if (strlen(sections[i]) == key.n && !memcmp(sections[i], key.p, key.n))
			return true;
	return false;
}

/* The trial without what later stages added, and the source so far as the agent's section. */
static void make_record(const struct record *trial, const char *source, struct buf *out)
{
	char sha[HASH_HEX];

	hash_hex(source, strlen(source), sha);
	emit_open(out, '{');
	for (int i = 0; i < trial->scan.n; i++) {
		const struct scan_member *m = &trial->scan.member[i];

		if (is_section(m->key))
			continue;
		if (out->data[out->len - 1] != '{')
			buf_addch(out, ',');
		buf_addf(out, "\"%.*s\":", (int)m->key.n, m->key.p);
		emit_raw(out, m->value.p, m->value.n);
	}
	emit_key(out, "agent");
	emit_open(out, '{');
	emit_kstr(out, "status", "check");
	emit_kstr(out, "submission", source);
	emit_kstr(out, "submission_sha256", sha);
	emit_close(out, '}');
	emit_close(out, '}');
	buf_addch(out, '\n');
}

/* Running --------------------------------------------------------------------------------------------------------- */

static void broken(struct evaluation *out, const char *status, const char *why)
{
	snprintf(out->status, sizeof out->status, "%s", status);
	buf_addf(&out->text, "%s: %s\nThis says nothing about the submission.\n", status, why);
}

static void read_answer(const struct buf *line, bool profile, struct evaluation *out)
{
	struct json *record = line->len ? json_parse(line->data, strcspn(line->data, "\n"), NULL) : NULL;
	const char *build = json_str(json_path(record, "build.status")), *time = json_str(json_path(record, "time.status"));
	bool built = !build || !strcmp(build, "ok");

	if (!build && !time) {
		broken(out, "tool_error", "the check gave no result");
	} else {
		snprintf(out->status, sizeof out->status, "%s", time && built ? time : build);
		out->speedup = json_num(json_path(record, "time.speedup"), NAN);
		evaluate_words(record, profile, &out->text);
	}
	json_free(record);
}

/* What the pipeline says on stderr is for the person who runs it, not for the model. */
static void tell_user(const struct buf *err)
{
	const char *line = err->data;

	for (size_t n; line && *line; line += n + (line[n] == '\n')) {
		n = strcspn(line, "\n");
		warn("check: %.*s", (int)n, line);
	}
}

enum evaluate_end evaluate(const struct evaluator *v, const struct record *trial, const char *source, bool profile,
			   struct evaluation *out, struct err *e)
{
	const char *pipeline = profile && v->profile ? v->profile : v->pipeline;
	char *argv[] = { "bash", "-o", "pipefail", "-c", (char *)pipeline, NULL };
	struct buf input = BUF_INIT;
	struct child c = { .argv = argv, .timeout = v->timeout, .max_output = RECORD_MAX };
	struct child_result r = { .end = CHILD_NOT_STARTED };
	enum evaluate_end end = EVALUATE_OK;
	int failed;

	memset(out, 0, sizeof *out);
	out->speedup = NAN;
	make_record(trial, source, &input);
	c.input = input.data;
	c.input_len = input.len;
	failed = child_run(&c, &r, e);
	tell_user(&r.err);
	if (child_interrupted) {
		err_set(e, "interrupted");
		end = EVALUATE_AWAY;
	} else if (r.end == CHILD_EXITED && r.code == EXIT_AGAIN) {
		err_set(e, "the check pipeline is away (exit status 75)");
		end = EVALUATE_AWAY;
	} else if (failed) {
		broken(out, "tool_error", e->text);
	} else if (r.end == CHILD_TIMEOUT) {
		broken(out, "timeout", "the check took too long and was stopped");
	} else if (r.end != CHILD_EXITED || r.code) {
		broken(out, "tool_error", "the check itself failed");
	} else {
		read_answer(&r.out, profile, out);
	}
	child_result_release(&r);
	buf_release(&input);
	return end;
}
