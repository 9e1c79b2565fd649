/* One handler per tool. */
#include "toolrun.h"
#include "child.h"
#include "file.h"
#include "utf8.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SOURCE_MAX = 1 << 20, WRITE_MAX = 8 << 20, SHELL_SECONDS = 120 };

/* Kept texts ------------------------------------------------------------------------------------------------------ */

static char *kept_path(const char *dir, const char *sha)
{
	return xasprintf("%s/kept/%s", dir, sha);
}

int toolrun_keep(const char *dir, const struct buf *text, char sha[HASH_HEX], struct err *e)
{
	char *folder = xasprintf("%s/kept", dir), *path;
	int failed;

	hash_hex(text->data, text->len, sha);
	path = kept_path(dir, sha);
	failed = file_mkdirs(folder, e) || file_write(path, text->data, text->len, e);
	free(path);
	free(folder);
	return failed ? -1 : 0;
}

int toolrun_kept(const char *dir, const char *sha, struct buf *out, struct err *e)
{
	char *path = kept_path(dir, sha), found[HASH_HEX];
	int failed = file_read(path, out, e);

	if (!failed) {
		hash_hex(out->data ? out->data : "", out->len, found);
		if (strcmp(found, sha))
			failed = err_set(e, "'%s' was changed", path);
	}
	free(path);
	return failed;
}

static bool is_text(const struct buf *b)
{
	size_t len;

	for (size_t i = 0; i < b->len; i += len) {
		len = utf8_sequence(b->data + i, b->len - i);
		if (!len || !b->data[i])
			return false;
	}
	return true;
}

int toolrun_source(const struct workspace *w, const char *path, struct buf *out, struct err *e)
{
	if (workspace_read(w, path, out, e))
		return -1;
	if (!out->len)
		return err_set(e, "'%s' is empty", path);
	if (out->len > SOURCE_MAX)
		return err_set(e, "'%s' has %zu bytes, more than %d", path, out->len, SOURCE_MAX);
	return is_text(out) ? 0 : err_set(e, "'%s' is not UTF-8 text", path);
}

/* Tools: 0; -1 with words for the model in e; 1 when the call stays open ------------------------------------------- */

struct call {
	const struct toolrun *t;
	const struct json *arguments;
	struct dialog_result *r;
};

/* The lines asked for of a text. */
static void cut_lines(const struct buf *text, long long first, long long count, struct buf *out)
{
	const char *p = text->data, *end = text->data + text->len, *stop;

	for (long long i = 1; i < first && p < end; i++)
		p = (stop = memchr(p, '\n', (size_t)(end - p))) ? stop + 1 : end;
	stop = p;
	for (long long i = 0; i < count && stop < end; i++) {
		const char *newline = memchr(stop, '\n', (size_t)(end - stop));

		stop = newline ? newline + 1 : end;
	}
	text_clip(out, p, (size_t)(stop - p), WORKSPACE_SHOWN);
}

static long long count_lines(const struct buf *text)
{
	long long n = 0;

	for (size_t i = 0; i < text->len; i++)
		n += text->data[i] == '\n' || i + 1 == text->len;
	return n;
}

static int tool_read(const struct call *c, struct err *e)
{
	long long first = json_get_int(c->arguments, "first_line", 1), lines = json_get_int(c->arguments, "lines", -1);
	struct buf text = BUF_INIT;
	int failed = workspace_read(c->t->work, json_get_str(c->arguments, "path"), &text, e);

	if (!failed && !text.len)
		buf_addstr(&c->r->text, "(empty)");
	else if (!failed && first > count_lines(&text))
		failed = err_set(e, "the file has only %lld lines", count_lines(&text));
	else if (!failed)
		cut_lines(&text, first, lines < 0 ? 1000000000 : lines, &c->r->text);
	buf_release(&text);
	return failed;
}

static int tool_write(const struct call *c, struct err *e)
{
	const char *path = json_get_str(c->arguments, "path"), *content = json_get_str(c->arguments, "content");

	if (strlen(content) > WRITE_MAX)
		return err_set(e, "the content has more than %d bytes", WRITE_MAX);
	if (workspace_write(c->t->work, path, content, strlen(content), e))
		return -1;
	buf_addf(&c->r->text, "wrote %zu bytes to %s", strlen(content), path);
	return 0;
}

static int tool_edit(const struct call *c, struct err *e)
{
	const char *path = json_get_str(c->arguments, "path");
	int n = workspace_edit(c->t->work, path, json_get_str(c->arguments, "old"), json_get_str(c->arguments, "new"),
			       json_bool(json_get(c->arguments, "all"), false), e);

	if (n < 0)
		return -1;
	buf_addf(&c->r->text, "replaced %d occurrence%s in %s", n, n == 1 ? "" : "s", path);
	return 0;
}

static int tool_list(const struct call *c, struct err *e)
{
	const char *path = json_get_str(c->arguments, "path");

	return workspace_list(c->t->work, path ? path : ".", &c->r->text, e);
}

static int tool_shell(const struct call *c, struct err *e)
{
	double timeout = json_get_num(c->arguments, "timeout", SHELL_SECONDS);
	int failed = workspace_shell(c->t->work, json_get_str(c->arguments, "command"), timeout, &c->r->text, e);

	if (!child_interrupted)
		return failed;
	err_set(e, "interrupted");
	return 1;
}

static int evaluate_source(const struct call *c, bool profile, struct err *e)
{
	struct dialog_result *r = c->r;
	struct buf source = BUF_INIT;
	struct evaluation v = { .text = BUF_INIT };
	int failed = toolrun_source(c->t->work, "submission.py", &source, e);

	if (!failed)
		failed = toolrun_keep(c->t->dir, &source, r->source, e);
	if (!failed && evaluate(c->t->evaluator, c->t->trial, source.data, profile, &v, e) == EVALUATE_AWAY)
		failed = 1;
	if (!failed) {
		snprintf(r->check, sizeof r->check, "%s", v.status);
		r->speedup = v.speedup;
		buf_addbuf(&r->text, &v.text);
	}
	buf_release(&v.text);
	buf_release(&source);
	return failed;
}

static int tool_check(const struct call *c, struct err *e)
{
	return evaluate_source(c, false, e);
}

static int tool_profile(const struct call *c, struct err *e)
{
	return evaluate_source(c, true, e);
}

static int tool_submit(const struct call *c, struct err *e)
{
	const char *design = json_get_str(c->arguments, "design"), *path = json_get_str(c->arguments, "path");
	struct buf text = BUF_INIT;
	int failed = 0;

	if (!design)
		failed = toolrun_source(c->t->work, path ? path : "submission.py", &text, e);
	else if (!design[strspn(design, " \t\r\n")])
		failed = err_set(e, "the design is empty");
	else
		buf_addstr(&text, design);
	if (!failed)
		failed = toolrun_keep(c->t->dir, &text, c->r->submitted, e);
	if (!failed)
		buf_addstr(&c->r->text, "handed in");
	buf_release(&text);
	return failed;
}

static const struct {
	const char *name;
	int (*run)(const struct call *c, struct err *e);
} tools[] = {
	{ "read", tool_read }, { "write", tool_write }, { "edit", tool_edit }, { "list", tool_list },
	{ "shell", tool_shell }, { "check", tool_check }, { "profile", tool_profile }, { "submit", tool_submit },
};

enum toolrun_end toolrun(const struct toolrun *t, const struct dialog_call *call, struct dialog_result *r,
			 struct err *e)
{
	struct err why = { "" };
	struct json *arguments = toolbox_arguments(t->box, call->name, call->arguments, &why);
	const struct call c = { t, arguments, r };
	int failed = -1;

	for (size_t i = 0; arguments && i < sizeof tools / sizeof *tools; i++)
		if (!strcmp(tools[i].name, call->name))
			failed = tools[i].run(&c, &why);
	json_free(arguments);
	r->ok = !failed;
	if (failed > 0) {
		err_set(e, "%s", why.text);
		return TOOLRUN_AWAY;
	}
	if (failed) {
		buf_reset(&r->text);
		buf_addf(&r->text, "error: %s", why.text);
	}
	return TOOLRUN_ANSWERED;
}
