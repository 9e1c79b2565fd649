/* Replies of a model and the tokens they took (model.h, wire.h). */
#include "emit.h"
#include "wire.h"
#include <stdlib.h>
#include <string.h>

/* Usage ----------------------------------------------------------------------------------------------------------- */

static long long add_known(long long a, long long b)
{
	return a < 0 || b < 0 ? -1 : a + b;
}

void usage_add(struct usage *a, const struct usage *b)
{
	a->fresh_in = add_known(a->fresh_in, b->fresh_in);
	a->cache_read = add_known(a->cache_read, b->cache_read);
	a->cache_write = add_known(a->cache_write, b->cache_write);
	a->out = add_known(a->out, b->out);
	a->reasoning = add_known(a->reasoning, b->reasoning);
}

static void emit_count(struct buf *out, const char *key, long long n)
{
	if (n < 0)
		emit_knull(out, key);
	else
		emit_kint(out, key, n);
}

void usage_emit(struct buf *out, const struct usage *u)
{
	emit_open(out, '{');
	emit_count(out, "fresh_in", u->fresh_in);
	emit_count(out, "cache_read", u->cache_read);
	emit_count(out, "cache_write", u->cache_write);
	emit_count(out, "out", u->out);
	emit_count(out, "reasoning", u->reasoning);
	emit_close(out, '}');
}

void usage_read(struct usage *u, const struct json *j)
{
	u->fresh_in = json_get_int(j, "fresh_in", -1);
	u->cache_read = json_get_int(j, "cache_read", -1);
	u->cache_write = json_get_int(j, "cache_write", -1);
	u->out = json_get_int(j, "out", -1);
	u->reasoning = json_get_int(j, "reasoning", -1);
}

/* Replies --------------------------------------------------------------------------------------------------------- */

void model_reply_release(struct model_reply *r)
{
	for (int i = 0; i < r->ncalls; i++) {
		free(r->calls[i].id);
		free(r->calls[i].name);
		free(r->calls[i].arguments);
	}
	free(r->calls);
	free(r->content);
	free(r->finish);
	free(r->message);
	memset(r, 0, sizeof *r);
}

static bool id_taken(const struct model_reply *r, const char *id)
{
	for (int i = 0; i < r->ncalls; i++)
		if (!strcmp(r->calls[i].id, id))
			return true;
	return false;
}

void reply_add_call(struct model_reply *r, const char *id, const char *name, const char *arguments)
{
	struct tool_call call = { .id = id && *id ? xstrdup(id) : NULL };

	for (int k = r->ncalls; !call.id || id_taken(r, call.id); k++) {
		free(call.id);
		call.id = xasprintf("call_made_up_%d", k);
	}
	call.name = xstrdup(name ? name : "");
	call.arguments = xstrdup(arguments ? arguments : "");
	r->calls = xrealloc(r->calls, (size_t)(r->ncalls + 1) * sizeof *r->calls);
	r->calls[r->ncalls++] = call;
}

/* The arguments if they are one JSON object, else {}. Escapes are written anew: a lone surrogate, which some servers
 * refuse, becomes U+FFFD. */
static void emit_arguments(struct buf *out, const char *arguments)
{
	struct json *j = json_parse(arguments, strlen(arguments), NULL);
	struct buf text = BUF_INIT;

	if (json_type(j) != JSON_OBJ)
		buf_addstr(&text, "{}");
	else if (strstr(arguments, "\\u"))
		json_print(j, &text);
	else
		buf_addstr(&text, arguments);
	emit_strn(out, text.data, text.len);
	buf_release(&text);
	json_free(j);
}

void reply_set_message(struct model_reply *r, const struct json *echo)
{
	struct buf out = BUF_INIT;
	const struct json *c;

	emit_open(&out, '{');
	emit_kstr(&out, "role", "assistant");
	/* an empty turn must still be a valid message; null is refused by some servers */
	emit_kstr(&out, "content", r->content ? r->content : r->ncalls ? "" : "(no text)");
	for (c = json_first(echo); c; c = json_next(c)) {
		emit_key(&out, json_key(c));
		json_print(c, &out);
	}
	if (r->ncalls) {
		emit_key(&out, "tool_calls");
		emit_open(&out, '[');
		for (int i = 0; i < r->ncalls; i++) {
			emit_open(&out, '{');
			emit_kstr(&out, "id", r->calls[i].id);
			emit_kstr(&out, "type", "function");
			emit_key(&out, "function");
			emit_open(&out, '{');
			/* a server checks names in the history too */
			emit_kstr(&out, "name", *r->calls[i].name ? r->calls[i].name : "unnamed");
			emit_key(&out, "arguments");
			emit_arguments(&out, r->calls[i].arguments);
			emit_close(&out, '}');
			emit_close(&out, '}');
		}
		emit_close(&out, ']');
	}
	emit_close(&out, '}');
	free(r->message);
	r->message = buf_detach(&out);
}
