/* One handler per tool. */
#include "toolrun.h"
#include "child.h"
#include "clip.h"
#include "kept.h"
#include <stdio.h>
#include <string.h>

enum { WRITE_MAX = 8 << 20, SHELL_SECONDS = 120 };

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
	clip_text(out, p, (size_t)(stop - p), CLIP_SHOWN);
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
	int failed = kept_source(c->t->work, "submission.py", &source, e);

	if (!failed)
		failed = kept_put(c->t->dir, &source, r->source, e);
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
		failed = kept_source(c->t->work, path ? path : "submission.py", &text, e);
	else if (!design[strspn(design, " \t\r\n")])
		failed = err_set(e, "the design is empty");
	else
		buf_addstr(&text, design);
	if (!failed)
		failed = kept_put(c->t->dir, &text, c->r->submitted, e);
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
