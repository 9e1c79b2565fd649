/* Events of a run: writing them and what each does to the state. */
#include "dialog.h"
#include "emit.h"
#include "opt.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The conversation ------------------------------------------------------------------------------------------------ */

/* Takes the closing bracket off, so that one more element can be written. */
static void array_reopen(struct buf *array)
{
	array->data[--array->len] = '\0';
}

static void add_message(struct dialog *d, const char *role, const char *call_id, const char *text)
{
	array_reopen(&d->messages);
	emit_open(&d->messages, '{');
	emit_kstr(&d->messages, "role", role);
	if (call_id)
		emit_kstr(&d->messages, "tool_call_id", call_id);
	emit_kstr(&d->messages, "content", text);
	emit_close(&d->messages, '}');
	emit_close(&d->messages, ']');
}

void dialog_init(struct dialog *d, const char *system, const char *user)
{
	memset(d, 0, sizeof *d);
	buf_addstr(&d->messages, "[]");
	buf_addstr(&d->checks, "[]");
	d->last = (struct usage)USAGE_UNKNOWN;
	add_message(d, "system", NULL, system);
	add_message(d, "user", NULL, user);
	d->spoken_to = true;
}

static void release_calls(struct dialog *d)
{
	for (int i = 0; i < d->ncalls; i++) {
		free(d->calls[i].id);
		free(d->calls[i].name);
		free(d->calls[i].arguments);
	}
	free(d->calls);
	d->calls = NULL;
	d->ncalls = 0;
}

void dialog_release(struct dialog *d)
{
	release_calls(d);
	for (int i = 0; i < d->ncounts; i++)
		free(d->counts[i].name);
	free(d->counts);
	buf_release(&d->messages);
	buf_release(&d->checks);
	free(d->content);
	free(d->finish);
	free(d->prompt);
	free(d->model_kind);
	free(d->status);
	free(d->reason);
	free(d->chosen_by);
}

static char *copy_str(const struct json *event, const char *key)
{
	const char *s = json_get_str(event, key);

	return s ? xstrdup(s) : NULL;
}

static void copy_hash(char out[HASH_HEX], const struct json *event, const char *key)
{
	const char *s = json_get_str(event, key);

	memset(out, 0, HASH_HEX);
	if (s)
		strncpy(out, s, HASH_HEX - 1);
}

/* Events ---------------------------------------------------------------------------------------------------------- */

void dialog_emit_start(struct buf *out, const struct dialog_start *s)
{
	emit_open(out, '{');
	emit_kstr(out, "event", "start");
	emit_kint(out, "version", 1);
	emit_kstr(out, "tool", "d2k-agent " D2K_VERSION);
	emit_kstr(out, "id", s->id);
	emit_kstr(out, "model", s->model);
	emit_kstr(out, "model_id", s->model_id);
	emit_kstr(out, "model_kind", s->model_kind);
	emit_kstr(out, "prompt", s->prompt);
	emit_close(out, '}');
}

static int apply_start(struct dialog *d, const struct json *event, struct err *e)
{
	if (d->started || json_get_int(event, "version", 0) != 1)
		return err_set(e, "not the start of a transcript of version 1");
	d->started = true;
	d->prompt = copy_str(event, "prompt");
	d->model_kind = copy_str(event, "model_kind");
	return d->prompt && d->model_kind ? 0 : err_set(e, "the start event is incomplete");
}

static void emit_head(struct buf *out, const char *event, int turn, double elapsed)
{
	emit_open(out, '{');
	emit_kstr(out, "event", event);
	if (turn >= 0)
		emit_kint(out, "turn", turn);
	emit_knum(out, "elapsed", elapsed);
}

void dialog_emit_reply(struct buf *out, const struct dialog *d, const struct model_reply *r, double elapsed)
{
	char sha[HASH_HEX];

	hash_hex(d->messages.data, d->messages.len, sha);
	emit_head(out, "reply", d->turns, elapsed);
	emit_kint(out, "attempts", r->attempts);
	emit_key(out, "request");
	emit_open(out, '{');
	emit_kint(out, "bytes", (long long)d->messages.len);
	emit_kstr(out, "sha256", sha);
	emit_close(out, '}');
	emit_kstr(out, "finish", r->finish);
	emit_key(out, "usage");
	usage_emit(out, &r->usage);
	emit_kstr(out, "content", r->content);
	emit_key(out, "calls");
	emit_open(out, '[');
	for (int i = 0; i < r->ncalls; i++) {
		emit_open(out, '{');
		emit_kstr(out, "id", r->calls[i].id);
		emit_kstr(out, "name", r->calls[i].name);
		emit_kstr(out, "arguments", r->calls[i].arguments);
		emit_close(out, '}');
	}
	emit_close(out, ']');
	emit_kraw(out, "message", r->message, strlen(r->message));
	emit_close(out, '}');
}

static void count_call(struct dialog *d, const char *name)
{
	for (int i = 0; i < d->ncounts; i++)
		if (!strcmp(d->counts[i].name, name)) {
			d->counts[i].n++;
			return;
		}
	d->counts = xrealloc(d->counts, (size_t)(d->ncounts + 1) * sizeof *d->counts);
	d->counts[d->ncounts++] = (struct dialog_count){ xstrdup(name), 1 };
}

int dialog_count_of(const struct dialog *d, const char *name)
{
	for (int i = 0; i < d->ncounts; i++)
		if (!strcmp(d->counts[i].name, name))
			return d->counts[i].n;
	return 0;
}

static int apply_calls(struct dialog *d, const struct json *calls, struct err *e)
{
	const struct json *c;

	release_calls(d);
	d->calls = xcalloc((size_t)json_len(calls), sizeof *d->calls);
	for (c = json_first(calls); c; c = json_next(c)) {
		struct dialog_call call = { copy_str(c, "id"), copy_str(c, "name"), copy_str(c, "arguments"), false };

		d->calls[d->ncalls++] = call;
		if (!call.id || !call.name || !call.arguments)
			return err_set(e, "a tool call is incomplete");
		count_call(d, call.name);
	}
	return 0;
}

static int apply_reply(struct dialog *d, const struct json *event, struct err *e)
{
	const struct json *message = json_get(event, "message");

	if (json_get_int(event, "turn", -1) != d->turns || json_type(message) != JSON_OBJ)
		return err_set(e, "not the reply of turn %d", d->turns);
	array_reopen(&d->messages);
	if (d->messages.len > 1)
		buf_addch(&d->messages, ',');
	json_print(message, &d->messages);
	emit_close(&d->messages, ']');
	if (apply_calls(d, json_get(event, "calls"), e))
		return -1;
	free(d->content);
	d->content = copy_str(event, "content");
	free(d->finish);
	d->finish = copy_str(event, "finish");
	usage_read(&d->last, json_get(event, "usage"));
	usage_add(&d->usage, &d->last);
	d->attempts += (int)json_get_int(event, "attempts", 0);
	d->silent = d->ncalls ? 0 : d->silent + 1;
	d->spoken_to = false;
	d->turns++;
	return 0;
}

void dialog_emit_result(struct buf *out, const struct dialog *d, const struct dialog_call *call,
			const struct dialog_result *r, double elapsed)
{
	emit_head(out, "result", d->turns - 1, elapsed);
	emit_kstr(out, "id", call->id);
	emit_kstr(out, "name", call->name);
	emit_kbool(out, "ok", r->ok);
	emit_kstrn(out, "text", r->text.data ? r->text.data : "", r->text.len);
	if (*r->check) {
		emit_key(out, "check");
		emit_open(out, '{');
		emit_kstr(out, "status", r->check);
		emit_knum(out, "speedup", r->speedup);
		emit_kstr(out, "source", r->source);
		emit_close(out, '}');
	}
	if (*r->submitted)
		emit_kstr(out, "submitted", r->submitted);
	emit_close(out, '}');
}

static void apply_check(struct dialog *d, const struct json *check)
{
	const char *status = json_get_str(check, "status");

	array_reopen(&d->checks);
	emit_open(&d->checks, '{');
	emit_kint(&d->checks, "turn", d->turns - 1);
	emit_kstr(&d->checks, "status", status);
	emit_knum(&d->checks, "speedup", json_get_num(check, "speedup", NAN));
	emit_close(&d->checks, '}');
	emit_close(&d->checks, ']');
	if (status && !strcmp(status, "correct"))
		copy_hash(d->last_correct, check, "source");
}

static int apply_result(struct dialog *d, const struct json *event, struct err *e)
{
	const char *id = json_get_str(event, "id"), *text = json_get_str(event, "text");
	const struct json *check = json_get(event, "check");
	int i = 0;

	while (i < d->ncalls && (!id || strcmp(d->calls[i].id, id) || d->calls[i].answered))
		i++;
	if (i == d->ncalls || !text)
		return err_set(e, "a result without its call");
	d->calls[i].answered = true;
	add_message(d, "tool", id, text);
	if (check)
		apply_check(d, check);
	if (json_get_str(event, "submitted"))
		copy_hash(d->submitted, event, "submitted");
	d->spoken_to = true;
	return 0;
}

void dialog_emit_note(struct buf *out, const char *text, double elapsed)
{
	emit_head(out, "note", -1, elapsed);
	emit_kstr(out, "text", text);
	emit_close(out, '}');
}

static int apply_note(struct dialog *d, const struct json *event, struct err *e)
{
	const char *text = json_get_str(event, "text");

	if (!text)
		return err_set(e, "a note without text");
	add_message(d, "user", NULL, text);
	d->spoken_to = true;
	return 0;
}

void dialog_emit_end(struct buf *out, const char *status, const char *reason, const char *chosen_by,
		     const char *source, double elapsed)
{
	emit_head(out, "end", -1, elapsed);
	emit_kstr(out, "status", status);
	emit_kstr(out, "reason", reason);
	emit_kstr(out, "chosen_by", chosen_by);
	emit_kstr(out, "source", source && *source ? source : NULL);
	emit_close(out, '}');
}

static int apply_end(struct dialog *d, const struct json *event, struct err *e)
{
	d->status = copy_str(event, "status");
	d->reason = copy_str(event, "reason");
	d->chosen_by = copy_str(event, "chosen_by");
	copy_hash(d->source, event, "source");
	d->ended = true;
	return d->status && d->chosen_by ? 0 : err_set(e, "the end event is incomplete");
}

static int apply(struct dialog *d, const struct json *event, struct err *e)
{
	static const struct {
		const char *name;
		int (*apply)(struct dialog *d, const struct json *event, struct err *e);
	} events[] = { { "start", apply_start }, { "reply", apply_reply }, { "result", apply_result },
		       { "note", apply_note }, { "end", apply_end } };
	const char *name = json_get_str(event, "event");

	if (d->ended)
		return err_set(e, "an event after the end");
	d->elapsed = json_get_num(event, "elapsed", d->elapsed);
	for (size_t i = 0; name && i < sizeof events / sizeof *events; i++)
		if (!strcmp(events[i].name, name))
			return d->started || i == 0 ? events[i].apply(d, event, e) :
						      err_set(e, "an event before the start");
	return err_set(e, "unknown event '%s'", name ? name : "");
}

static int apply_line(const struct json *line, void *ctx, struct err *e)
{
	return apply(ctx, line, e);
}

int dialog_resume(struct dialog *d, struct transcript *t, struct err *e)
{
	return transcript_read(t, apply_line, d, e);
}

int dialog_add(struct dialog *d, struct transcript *t, struct buf *line, struct err *e)
{
	struct json *event = NULL;
	int failed = transcript_append(t, line, e);

	if (!failed && !(event = json_parse(line->data, line->len, e)))
		failed = -1;
	if (!failed)
		failed = apply(d, event, e);
	json_free(event);
	buf_release(line);
	return failed;
}
