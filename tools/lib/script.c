/* A scripted model: replies from a file, played through the same loop as a real one. One JSON object a line:
 *
 *     {"content":"words", "calls":[{"name":"write","arguments":{...}}], "usage":{...}, "expect":"text"}
 *
 * Every member may be missing. Line number `turn` (blank lines not counted) answers request number `turn`. `expect`
 * must occur in the messages after the last reply, or the script fails. arguments given as a string are sent as they
 * are, so that a script can play a model that sends nonsense; "id" in a call likewise. A value
 * {"$file":"path relative to the script","replace":[["old","new"],...]} stands for that file's text, each old (which
 * must occur) replaced throughout. content that is an object or list without "$file" is sent as its JSON text. */
#include "emit.h"
#include "file.h"
#include "json.h"
#include "wire.h"
#include <stdlib.h>
#include <string.h>

struct script {
	char *dir;		/* relative "$file" paths start here */
	char **lines;
	int n;
};

static void split_lines(struct script *s, const char *text)
{
	for (size_t n; *text; text += n + (text[n] == '\n')) {
		n = strcspn(text, "\n");
		if (strspn(text, " \t\r") >= n)
			continue;
		s->lines = xrealloc(s->lines, (size_t)(s->n + 1) * sizeof *s->lines);
		s->lines[s->n++] = xstrndup(text, n);
	}
}

static int script_load(struct script *s, const char *path, struct err *e)
{
	struct buf text = BUF_INIT;
	const char *slash = strrchr(path, '/');

	memset(s, 0, sizeof *s);
	if (file_read(path, &text, e))
		return -1;
	s->dir = slash ? xstrndup(path, (size_t)(slash - path)) : xstrdup(".");
	split_lines(s, text.data ? text.data : "");
	buf_release(&text);
	return 0;
}

static void script_release(struct script *s)
{
	for (int i = 0; i < s->n; i++)
		free(s->lines[i]);
	free(s->lines);
	free(s->dir);
}

/* Opening --------------------------------------------------------------------------------------------------------- */

/* Names that become part of a path. */
static int check_part(const char *what, const char *s, struct err *e)
{
	if (!s)
		return err_set(e, "the script's path names the %s, which is not known here", what);
	if (!*s || *s == '.' || strchr(s, '/'))
		return err_set(e, "'%s' cannot be part of a path", s);
	return 0;
}

static int fill_path(const char *pattern, const char *task, const char *arm, struct buf *out, struct err *e)
{
	while (*pattern) {
		if (!strncmp(pattern, "{task}", 6)) {
			if (check_part("task", task, e))
				return -1;
			buf_addstr(out, task);
			pattern += 6;
		} else if (!strncmp(pattern, "{arm}", 5)) {
			if (check_part("arm", arm, e))
				return -1;
			buf_addstr(out, arm);
			pattern += 5;
		} else {
			buf_addch(out, *pattern++);
		}
	}
	return 0;
}

/* The entry's hashes cover the script too. */
static void add_to_hash(char hash[HASH_HEX], const struct script *s)
{
	struct hash_parts h = { BUF_INIT };

	hash_partstr(&h, "entry", hash);
	for (int i = 0; i < s->n; i++)
		hash_partstr(&h, "line", s->lines[i]);
	hash_done(&h, hash);
}

static int script_open(struct model *m, const char *dir, const char *task, const char *arm, struct err *e)
{
	const char *pattern = json_get_str(m->entry, "script");
	struct buf name = BUF_INIT, path = BUF_INIT;
	struct script *s;
	int failed;

	if (!pattern)
		return err_set(e, "'script' is not filled in");
	failed = fill_path(pattern, task, arm, &name, e);
	if (!failed) {
		if (name.data[0] != '/')
			buf_addf(&path, "%s/", dir);
		buf_addbuf(&path, &name);
		m->state = s = xcalloc(1, sizeof *s);
		failed = script_load(s, path.data, e);
	}
	if (!failed) {
		add_to_hash(m->hash, s);
		add_to_hash(m->kind, s);
		m->id = xasprintf("script:%s", name.data);
	}
	buf_release(&name);
	buf_release(&path);
	return failed;
}

static void script_close(struct model *m)
{
	script_release(m->state);
	free(m->state);
}

/* Playing --------------------------------------------------------------------------------------------------------- */

static int replace_all(struct buf *text, const char *old, const char *new, struct err *e)
{
	struct buf out = BUF_INIT;
	char *from = text->data, *at;

	if (!old || !new || !*old)
		return err_set(e, "'replace' takes pairs of strings");
	if (!from || !strstr(from, old))
		return err_set(e, "'%.100s' does not occur in the file", old);
	for (; (at = strstr(from, old)); from = at + strlen(old)) {
		buf_add(&out, from, (size_t)(at - from));
		buf_addstr(&out, new);
	}
	buf_addstr(&out, from);
	buf_release(text);
	*text = out;
	return 0;
}

/* The text that {"$file":...,"replace":...} stands for. */
static int file_text(const struct script *s, const struct json *value, struct buf *out, struct err *e)
{
	static const char *const known[] = { "$file", "replace", NULL };
	const char *name = json_get_str(value, "$file");
	const struct json *pair;
	char *path;
	int failed;

	if (!name || json_only_keys(value, known, e))
		return name ? -1 : err_set(e, "'$file' is not a string");
	path = *name == '/' ? xstrdup(name) : xasprintf("%s/%s", s->dir, name);
	failed = file_read(path, out, e);
	free(path);
	for (pair = json_first(json_get(value, "replace")); pair && !failed; pair = json_next(pair))
		failed = replace_all(out, json_str(json_first(pair)), json_str(json_next(json_first(pair))), e);
	return failed;
}

static int play_arguments(const struct script *s, const struct json *arguments, struct buf *out, struct err *e)
{
	const struct json *c;

	if (json_type(arguments) != JSON_OBJ) {	/* nonsense on purpose */
		if (json_str(arguments))
			buf_addstr(out, json_str(arguments));
		else if (arguments)
			json_print(arguments, out);
		return 0;
	}
	emit_open(out, '{');
	for (c = json_first(arguments); c; c = json_next(c)) {
		struct buf text = BUF_INIT;

		emit_key(out, json_key(c));
		if (!json_get(c, "$file")) {
			json_print(c, out);
			continue;
		}
		if (file_text(s, c, &text, e)) {
			buf_release(&text);
			return -1;
		}
		emit_strn(out, text.data ? text.data : "", text.len);
		buf_release(&text);
	}
	emit_close(out, '}');
	return 0;
}

static int play_content(const struct script *s, const struct json *content, struct model_reply *r, struct err *e)
{
	struct buf text = BUF_INIT;

	if (json_type(content) <= JSON_NULL)
		return 0;
	if (json_str(content))
		buf_addstr(&text, json_str(content));
	else if (!json_get(content, "$file"))
		json_print(content, &text);
	else if (file_text(s, content, &text, e))
		return buf_release(&text), -1;
	r->content = buf_detach(&text);
	return 0;
}

static int play_line(const struct script *s, const struct json *line, struct model_reply *r, struct err *e)
{
	static const char *const known[] = { "content", "calls", "usage", "expect", NULL };
	static const char *const call_known[] = { "id", "name", "arguments", NULL };
	const struct json *c;

	if (json_only_keys(line, known, e) || play_content(s, json_get(line, "content"), r, e))
		return -1;
	for (c = json_first(json_get(line, "calls")); c; c = json_next(c)) {
		struct buf arguments = BUF_INIT;

		if (json_only_keys(c, call_known, e) ||
		    play_arguments(s, json_get(c, "arguments"), &arguments, e)) {
			buf_release(&arguments);
			return -1;
		}
		reply_add_call(r, json_get_str(c, "id"), json_get_str(c, "name"), arguments.data);
		buf_release(&arguments);
	}
	usage_read(&r->usage, json_get(line, "usage"));
	r->finish = xstrdup(r->ncalls ? "tool_calls" : "stop");
	reply_set_message(r, NULL);
	return 0;
}

/* The text of all messages after the last reply, which is what the model would react to. */
static void latest_text(const struct buf *messages, struct buf *out)
{
	struct json *j = json_parse(messages->data, messages->len, NULL);

	for (const struct json *c = json_first(j); c; c = json_next(c)) {
		const char *role = json_get_str(c, "role"), *content = json_get_str(c, "content");

		if (role && !strcmp(role, "assistant"))
			buf_reset(out);
		else if (content)
			buf_addf(out, "%s\n", content);
	}
	json_free(j);
}

static int check_expected(const char *expect, const struct buf *messages, struct err *e)
{
	struct buf latest = BUF_INIT;
	int failed = 0;

	if (!expect)
		return 0;
	latest_text(messages, &latest);
	if (!latest.data || !strstr(latest.data, expect))
		failed = err_set(e, "expected '%.150s', was told '%.250s'", expect, latest.data ? latest.data : "");
	buf_release(&latest);
	return failed;
}

static enum wire_end script_ask(struct model *m, const struct wire_request *q, struct model_reply *r, double *wait,
				struct err *e)
{
	const struct script *s = m->state;
	struct err why = { "" };
	struct json *line;
	bool failed;

	(void)wait;
	if (q->turn >= s->n) {
		err_set(e, "the script has %d replies", s->n);
		return WIRE_SCRIPT_END;
	}
	line = json_parse(s->lines[q->turn], strlen(s->lines[q->turn]), &why);
	failed = !line || check_expected(json_get_str(line, "expect"), q->messages, &why) ||
		 play_line(s, line, r, &why);
	if (failed)
		err_set(e, "reply %d of the script: %s", q->turn + 1, why.text);
	json_free(line);
	return failed ? WIRE_FINAL : WIRE_OK;
}

const struct model_wire wire_script = { "script", script_open, script_ask, script_close };
