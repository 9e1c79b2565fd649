/* The chat-completions wire: request out of pieces, reply normalised, errors sorted. */
#include "chat.h"
#include "emit.h"
#include "json.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct chat {
	struct http *http;
	char *url, *authorization;
	bool caches;
};

/* Request --------------------------------------------------------------------------------------------------------- */

/* Members that the request has anyway, or that would change how the reply is read. */
static int check_parameters(const struct json *parameters, struct err *e)
{
	static const char *const taken[] = { "model", "messages", "tools", "stream", "n" };

	for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
		if (json_get(parameters, taken[i]))
			return err_set(e, "parameter '%s' cannot be set", taken[i]);
	return 0;
}

static int chat_open(struct model *m, const char *dir, const char *task, const char *arm, struct err *e)
{
	const char *base = json_get_str(m->entry, "base_url"), *id = json_get_str(m->entry, "model");
	struct chat *c;
	size_t n;

	(void)dir, (void)task, (void)arm;
	if (!base || !id)
		return err_set(e, "%s is not filled in", base ? "the identifier ('model')" : "'base_url'");
	if (check_parameters(json_get(m->entry, "parameters"), e))
		return -1;
	m->state = c = xcalloc(1, sizeof *c);
	for (n = strlen(base); n && base[n - 1] == '/'; n--)
		;
	c->url = xasprintf("%.*s/chat/completions", (int)n, base);
	c->authorization = m->key ? xasprintf("Authorization: Bearer %s", m->key) : NULL;
	c->caches = json_bool(json_get(m->entry, "caches"), true);
	c->http = http_open();
	m->id = xstrdup(id);
	return 0;
}

static void chat_close(struct model *m)
{
	struct chat *c = m->state;

	http_close(c->http);
	free(c->url);
	free(c->authorization);
	free(c);
}

static void emit_member(struct buf *out, const struct json *value)
{
	emit_key(out, json_key(value));
	json_print(value, out);
}

/* What follows the messages: tools, parameters, the token limit, extra members (which win over parameters). */
static int request_tail(const struct model *m, const struct wire_request *q, struct buf *out, struct err *e)
{
	const struct json *parameters = json_get(m->entry, "parameters"), *c;
	const char *field = json_get_str(m->entry, "max_tokens_field");
	long long max_tokens = json_get_int(m->entry, "max_tokens", 0);
	struct json *extra = NULL;

	if (q->extra && q->extra->len && !(extra = json_parse(q->extra->data, q->extra->len, e)))
		return -1;
	if (q->tools && q->tools->len)
		emit_kraw(out, "tools", q->tools->data, q->tools->len);
	for (c = json_first(parameters); c; c = json_next(c))
		if (!json_get(extra, json_key(c)))
			emit_member(out, c);
	if (field && max_tokens > 0)
		emit_kint(out, field, max_tokens);
	for (c = json_first(extra); c; c = json_next(c))
		emit_member(out, c);
	emit_close(out, '}');
	json_free(extra);
	return 0;
}

/* Errors ---------------------------------------------------------------------------------------------------------- */

static bool has_any(const char *text, const char *const *phrases)
{
	for (; *phrases; phrases++)
		if (strcasestr(text, *phrases))
			return true;
	return false;
}

static bool is_overflow(const char *text)
{
	static const char *const phrases[] = { "context_length_exceeded", "prompt is too long", "input is too long",
		"maximum context length", "exceed context limit", "exceed_context_size_error",
		"context size has been exceeded", "max_tokens must be at least 1", NULL };

	return has_any(text, phrases);
}

static bool is_out_of_quota(const char *text)
{
	static const char *const phrases[] = { "insufficient_quota", "exceeded your current quota", "spend limit",
		"spending limit", NULL };

	return has_any(text, phrases);
}

/* {error:{message,type,code}}, {error:"text"}, or flat {object:"error",message,code}; a page of a proxy is quoted. */
static void describe(long status, const struct json *j, const char *body, struct err *e)
{
	const struct json *error = json_get(j, "error");
	const char *text = json_get_str(error, "message");

	if (!text)
		text = json_str(error);
	if (!text)
		text = json_get_str(j, "message");
	if (status)
		err_set(e, "HTTP %ld: %.300s", status, text ? text : body ? body : "");
	else
		err_set(e, "%.300s", text ? text : body ? body : "");
}

/* The status an error object states in place of HTTP's: a number, or a number in a string. */
static long stated_status(const struct json *j)
{
	const struct json *code = json_path(j, "error.code");
	long status = (long)json_int(code, 0);

	if (json_str(code))
		status = strtol(json_str(code), NULL, 10);
	return status >= 400 && status < 600 ? status : 0;
}

/* For errors that come without a status: a request that was wrong once stays wrong. */
static bool is_refused(const char *text)
{
	static const char *const phrases[] = { "invalid_request_error", "authentication_error", "invalid_api_key",
		"permission_error", "not_found_error", NULL };

	return has_any(text, phrases);
}

static enum wire_end classify_body(long status, const char *body, size_t n, struct err *e)
{
	struct json *j = body ? json_parse(body, n, NULL) : NULL;
	const char *text = body ? body : "";

	describe(status, j, body, e);
	if (!status)
		status = stated_status(j);
	json_free(j);
	if (is_overflow(text))
		return WIRE_OVERFLOW;
	if (is_out_of_quota(text) || (!status && is_refused(text)))
		return WIRE_FINAL;
	if (status == 408 || status == 409 || status == 429 || status >= 500 || status == 0)
		return WIRE_RETRY;
	return WIRE_FINAL;
}

enum wire_end chat_classify(const struct http_response *r, struct err *e)
{
	enum wire_end end = classify_body(r->status, r->body.data, r->body.len, e);

	if (r->status == 402 && end == WIRE_FINAL && !isnan(http_wait_asked(r)))
		return WIRE_RETRY;
	return end;
}

/* Reply ----------------------------------------------------------------------------------------------------------- */

/* Prompt tokens include those read from and written to the cache; completion tokens include reasoning. A server that
 * reports cached tokens but no writes does not bill writes apart. */
static void read_usage(const struct json *u, bool caches, struct usage *out)
{
	long long prompt = json_get_int(u, "prompt_tokens", -1);
	long long none = caches ? -1 : 0;

	out->out = json_get_int(u, "completion_tokens", -1);
	out->reasoning = json_int(json_path(u, "completion_tokens_details.reasoning_tokens"), -1);
	out->cache_read = json_int(json_path(u, "prompt_tokens_details.cached_tokens"), -1);
	if (out->cache_read < 0)
		out->cache_read = json_get_int(u, "prompt_cache_hit_tokens", none);	/* DeepSeek's name */
	out->cache_write = json_int(json_path(u, "prompt_tokens_details.cache_write_tokens"),
				    out->cache_read < 0 ? -1 : 0);
	if (prompt < 0 || out->cache_read < 0)
		return;
	out->fresh_in = prompt - out->cache_read - out->cache_write;
	if (out->fresh_in < 0)	/* the server counts in a way of its own */
		out->fresh_in = out->cache_read = out->cache_write = -1;
}

/* Content is a string, null, absent, or a list of parts. */
static char *read_content(const struct json *message)
{
	const struct json *content = json_get(message, "content"), *part;
	struct buf text = BUF_INIT;

	if (json_str(content))
		buf_addstr(&text, json_str(content));
	for (part = json_type(content) == JSON_ARR ? json_first(content) : NULL; part; part = json_next(part))
		if (json_get_str(part, "text"))
			buf_addstr(&text, json_get_str(part, "text"));
	if (!text.len && json_get_str(message, "refusal"))
		buf_addstr(&text, json_get_str(message, "refusal"));
	if (!text.len) {
		buf_release(&text);
		return NULL;
	}
	return buf_detach(&text);
}

static void read_calls(const struct json *message, struct model_reply *r)
{
	const struct json *calls = json_get(message, "tool_calls"), *c;

	for (c = json_type(calls) == JSON_ARR ? json_first(calls) : NULL; c; c = json_next(c)) {
		const struct json *arguments = json_path(c, "function.arguments");
		struct buf text = BUF_INIT;

		/* some servers send the object itself */
		if (json_str(arguments))
			buf_addstr(&text, json_str(arguments));
		else if (arguments)
			json_print(arguments, &text);
		reply_add_call(r, json_get_str(c, "id"), json_str(json_path(c, "function.name")), text.data);
		buf_release(&text);
	}
}

/* Reasoning that servers want back, or may use, under their several names. */
static struct json *read_reasoning(const struct json *message)
{
	static const char *const names[] = { "reasoning", "reasoning_content", "reasoning_details" };
	struct buf text = BUF_INIT;
	struct json *echo;

	emit_open(&text, '{');
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (json_type(json_get(message, names[i])) > JSON_NULL)
			emit_member(&text, json_get(message, names[i]));
	emit_close(&text, '}');
	echo = json_parse(text.data, text.len, NULL);
	buf_release(&text);
	return echo;
}

/* Thinking in the text itself: the reply's content begins after it, the message keeps it. */
static void cut_thinking(char *content)
{
	char *end;

	if (!content || strncmp(content, "<think>", 7) || !(end = strstr(content, "</think>")))
		return;
	end += 8;
	end += strspn(end, " \t\r\n");
	memmove(content, end, strlen(end) + 1);
}

enum wire_end chat_read_reply(const char *body, size_t n, bool caches, struct model_reply *r, struct err *e)
{
	struct json *j = json_parse(body, n, e), *echo;
	const struct json *choice = json_first(json_get(j, "choices")), *message = json_get(choice, "message");
	const char *finish = json_get_str(choice, "finish_reason");

	if (j && json_type(json_get(j, "error")) > JSON_NULL) {
		json_free(j);
		return classify_body(0, body, n, e);	/* an error dressed as a success */
	}
	if (json_type(message) != JSON_OBJ) {
		if (j)
			err_set(e, "the reply has no message");
		json_free(j);
		return WIRE_GARBLED;
	}
	if (finish && !strcmp(finish, "error")) {
		err_set(e, "the server ended the reply with an error");
		json_free(j);
		return WIRE_RETRY;
	}
	r->usage = (struct usage)USAGE_UNKNOWN;
	read_usage(json_get(j, "usage"), caches, &r->usage);
	r->finish = finish ? xstrdup(finish) : NULL;
	r->content = read_content(message);
	read_calls(message, r);
	echo = read_reasoning(message);
	reply_set_message(r, echo);
	json_free(echo);
	cut_thinking(r->content);
	json_free(j);
	return WIRE_OK;
}

/* Asking ---------------------------------------------------------------------------------------------------------- */

/* A server that quotes the key in its complaint must not bring it into a log or a transcript. */
static void remove_key(struct buf *body, const char *key)
{
	size_t n = key ? strlen(key) : 0;
	char *at;

	if (n < 4 || !body->len)
		return;
	for (char *from = body->data; (at = memmem(from, body->len - (size_t)(from - body->data), key, n)); from = at + n)
		memset(at, '*', n);
}

static enum wire_end post(struct model *m, const struct http_piece *pieces, int n, struct http_response *answer,
			  struct model_reply *r, double *wait, struct err *e)
{
	struct chat *c = m->state;
	const char *const headers[] = { "Content-Type: application/json", "User-Agent: d2k", c->authorization, NULL };
	const struct http_request q = { c->url, headers, pieces, n, m->timeout };

	switch (http_post(c->http, &q, answer, e)) {
	case HTTP_AWAY:
	case HTTP_INTERRUPTED:
		return WIRE_RETRY;
	case HTTP_UNUSABLE:
		return WIRE_FINAL;
	case HTTP_OK:
		break;
	}
	remove_key(&answer->body, m->key);
	*wait = http_wait_asked(answer);
	if (answer->status >= 200 && answer->status < 300)
		return chat_read_reply(answer->body.data ? answer->body.data : "", answer->body.len, c->caches, r, e);
	return chat_classify(answer, e);
}

static enum wire_end chat_ask(struct model *m, const struct wire_request *q, struct model_reply *r, double *wait,
			      struct err *e)
{
	struct http_response answer = { .status = 0 };
	struct buf head = BUF_INIT, tail = BUF_INIT;
	enum wire_end end = WIRE_FINAL;

	emit_open(&head, '{');
	emit_kstr(&head, "model", m->id);
	emit_key(&head, "messages");
	buf_addch(&tail, ',');
	if (!request_tail(m, q, &tail, e)) {
		struct http_piece pieces[] = { { head.data, head.len }, { q->messages->data, q->messages->len },
					       { tail.data, tail.len } };

		if (!strcmp(tail.data, ",}"))
			pieces[2] = (struct http_piece){ "}", 1 };
		end = post(m, pieces, 3, &answer, r, wait, e);
	}
	http_response_release(&answer);
	buf_release(&head);
	buf_release(&tail);
	return end;
}

const struct model_wire wire_chat = { "chat", chat_open, chat_ask, chat_close };
