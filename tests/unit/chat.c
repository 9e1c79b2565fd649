/* The chat wire without a network: replies as servers send them, errors sorted, waits read from headers, prices. */
#include "chat.h"
#include "tap.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum wire_end read_reply(const char *body, struct model_reply *r)
{
	struct err e = { "" };

	memset(r, 0, sizeof *r);
	return chat_read_reply(body, strlen(body), true, r, &e);
}

static bool same(const char *a, const char *b)
{
	return a && b && !strcmp(a, b);
}

/* Replies --------------------------------------------------------------------------------------------------------- */

static void test_calls(void)
{
	struct model_reply r;

	static const char body[] =
		"{\"choices\":[{\"finish_reason\":\"stop\",\"message\":{\"role\":\"assistant\",\"content\":null,"
		"\"tool_calls\":["
		"{\"id\":\"a\",\"function\":{\"name\":\"read\",\"arguments\":\"{\\\"path\\\":\\\"x\\\"}\"}},"
		"{\"id\":\"a\",\"function\":{\"name\":\"list\",\"arguments\":\"[]\"}},"
		"{\"function\":{\"name\":\"list\",\"arguments\":{\"path\":\".\"}}},"
		"{\"id\":null,\"function\":{}}]}}]}";

	ok(read_reply(body, &r) == WIRE_OK && r.ncalls == 4, "four calls beside finish_reason stop");
	ok(!r.content && same(r.finish, "stop"), "content null");
	ok(same(r.calls[0].id, "a") && strcmp(r.calls[1].id, "a") && strcmp(r.calls[2].id, r.calls[1].id) &&
	   strcmp(r.calls[3].id, r.calls[2].id), "duplicate and missing ids become unique");
	ok(same(r.calls[1].arguments, "[]") && same(r.calls[2].arguments, "{\"path\":\".\"}") &&
	   same(r.calls[3].arguments, "") && same(r.calls[3].name, ""), "arguments kept as sent");
	ok(!strstr(r.message, "null") && strstr(r.message, "\"arguments\":\"{\\\"path\\\":\\\"x\\\"}\"") &&
	   !strstr(r.message, "\"arguments\":\"[]\"") && strstr(r.message, "\"arguments\":\"{}\"") &&
	   strstr(r.message, "\"name\":\"unnamed\""), "the message for the history is sanitised");
	ok(r.usage.fresh_in == -1 && r.usage.out == -1 && r.usage.reasoning == -1, "missing usage is unknown");
	model_reply_release(&r);
}

/* A reply whose choice has this message. */
static enum wire_end read_message(const char *message, struct model_reply *r)
{
	char *body = xasprintf("{\"choices\":[{\"message\":%s}]}", message);
	enum wire_end end = read_reply(body, r);

	free(body);
	return end;
}

static void test_content(void)
{
	struct model_reply r;

	ok(read_message("{}", &r) == WIRE_OK && !r.content && !r.finish && strstr(r.message, "(no text)"),
	   "an empty message");
	model_reply_release(&r);
	ok(read_message("{\"content\":[{\"type\":\"text\",\"text\":\"a\"},{\"text\":\"b\"}]}", &r) == WIRE_OK &&
	   same(r.content, "ab"), "content in parts");
	model_reply_release(&r);
	ok(read_message("{\"content\":\"<think>hm</think>\\n\\nyes\",\"reasoning_content\":\"why\"}", &r) == WIRE_OK &&
	   same(r.content, "yes") && strstr(r.message, "<think>hm") &&
	   strstr(r.message, "\"reasoning_content\":\"why\""), "thinking is no content, and is sent back");
	model_reply_release(&r);
	ok(read_message("{\"content\":null,\"refusal\":\"no\"}", &r) == WIRE_OK && same(r.content, "no"),
	   "a refusal is what it said");
	model_reply_release(&r);
}

static bool usage_is(const char *usage, bool caches, long long fresh, long long read, long long write, long long out,
		     long long reasoning)
{
	struct model_reply r = { 0 };
	struct err e;
	char *body = xasprintf("{\"choices\":[{\"message\":{\"content\":\"x\"}}],\"usage\":%s}", usage);
	bool good = chat_read_reply(body, strlen(body), caches, &r, &e) == WIRE_OK && r.usage.fresh_in == fresh &&
		    r.usage.cache_read == read && r.usage.cache_write == write && r.usage.out == out &&
		    r.usage.reasoning == reasoning;

	free(body);
	model_reply_release(&r);
	return good;
}

static void test_usage(void)
{
	ok(usage_is("{\"prompt_tokens\":100,\"completion_tokens\":20,\"prompt_tokens_details\":{\"cached_tokens\":60},"
		    "\"completion_tokens_details\":{\"reasoning_tokens\":5}}", true, 40, 60, 0, 20, 5),
	   "cached tokens are part of the prompt's");
	ok(usage_is("{\"prompt_tokens\":100,\"completion_tokens\":20,\"prompt_tokens_details\":{\"cached_tokens\":60,"
		    "\"cache_write_tokens\":30}}", true, 10, 60, 30, 20, -1), "and so are those written");
	ok(usage_is("{\"prompt_tokens\":100,\"completion_tokens\":20}", true, -1, -1, -1, 20, -1), "no cache count: unknown");
	ok(usage_is("{\"prompt_tokens\":100,\"completion_tokens\":20}", false, 100, 0, 0, 20, -1),
	   "an endpoint without a cache: 0");
	ok(usage_is("{\"prompt_tokens\":100,\"prompt_cache_hit_tokens\":70,\"prompt_cache_miss_tokens\":30}", true,
		    30, 70, 0, -1, -1), "another vendor's names");
	ok(usage_is("{\"prompt_tokens\":10,\"prompt_tokens_details\":{\"cached_tokens\":60}}", true, -1, -1, -1, -1, -1),
	   "more cached than there are: unknown");
	ok(usage_is("null", true, -1, -1, -1, -1, -1), "no usage");
}

/* Errors ---------------------------------------------------------------------------------------------------------- */

static enum wire_end classify(long status, const char *headers, const char *body)
{
	struct http_response r = { .status = status };
	struct err e;
	enum wire_end end;

	buf_addstr(&r.headers, headers);
	buf_addstr(&r.body, body);
	end = chat_classify(&r, &e);
	http_response_release(&r);
	return end;
}

static void test_errors(void)
{
	static const long retried[] = { 408, 409, 429, 500, 502, 503, 504, 529 };
	static const long final[] = { 400, 401, 402, 403, 404, 413, 422 };
	struct model_reply r;
	bool good = true;

	for (size_t i = 0; i < sizeof retried / sizeof *retried; i++)
		good = good && classify(retried[i], "", "{\"error\":{\"message\":\"m\",\"code\":null}}") == WIRE_RETRY;
	ok(good, "statuses to try again");
	good = true;
	for (size_t i = 0; i < sizeof final / sizeof *final; i++)
		good = good && classify(final[i], "", "{\"object\":\"error\",\"message\":\"m\",\"code\":7}") == WIRE_FINAL;
	ok(good, "final statuses");
	ok(classify(402, "HTTP/1.1 402 x\r\nRetry-After: 3\r\n", "") == WIRE_RETRY, "402 with Retry-After");
	ok(classify(429, "", "{\"error\":{\"code\":\"insufficient_quota\"}}") == WIRE_FINAL &&
	   classify(429, "", "You exceeded your current quota") == WIRE_FINAL &&
	   classify(429, "", "{\"error\":\"monthly spend limit reached\"}") == WIRE_FINAL, "a 429 that will not pass");
	ok(classify(400, "", "{\"error\":{\"code\":\"context_length_exceeded\"}}") == WIRE_OVERFLOW &&
	   classify(400, "", "prompt is too long: 210000 tokens") == WIRE_OVERFLOW &&
	   classify(500, "", "Context size has been exceeded.") == WIRE_OVERFLOW &&
	   classify(400, "", "{\"message\":\"This model's maximum context length is 8192\"}") == WIRE_OVERFLOW,
	   "context overflow");
	ok(read_reply("{\"error\":{\"code\":429,\"message\":\"slow down\"}}", &r) == WIRE_RETRY, "an error under status 200");
	ok(read_reply("{\"error\":{\"type\":\"invalid_request_error\",\"code\":null}}", &r) == WIRE_FINAL, "a final one");
	ok(read_reply("{\"choices\":[{\"finish_reason\":\"error\",\"message\":{\"content\":\"\"}}]}", &r) == WIRE_RETRY,
	   "finish_reason error");
	ok(read_reply("<html>", &r) == WIRE_GARBLED && read_reply("", &r) == WIRE_GARBLED &&
	   read_reply("[]", &r) == WIRE_GARBLED && read_reply("{\"choices\":[]}", &r) == WIRE_GARBLED &&
	   read_reply("{\"choices\":{}}", &r) == WIRE_GARBLED &&
	   read_reply("{\"choices\":[{\"message\":\"x\"}]}", &r) == WIRE_GARBLED, "what is no reply");
}

/* Waits ----------------------------------------------------------------------------------------------------------- */

static double wait_asked(const char *headers)
{
	struct http_response r = { .status = 429 };
	double wait;

	buf_addstr(&r.headers, headers);
	wait = http_wait_asked(&r);
	http_response_release(&r);
	return wait;
}

static void test_waits(void)
{
	ok(wait_asked("HTTP/1.1 429 x\r\nretry-AFTER:  7 \r\n") == 7, "Retry-After in seconds");
	ok(wait_asked("retry-after-ms: 1500\r\nRetry-After: 7\r\n") == 1.5, "retry-after-ms goes first");
	ok(wait_asked("Retry-After: Fri, 31 Dec 1999 23:59:59 GMT\r\n") == 0, "a date that is past");
	ok(wait_asked("Retry-After: Fri, 31 Dec 2199 23:59:59 GMT\r\n") > 1e9, "a date to come");
	ok(wait_asked("x-ratelimit-remaining-requests: 0\r\nx-ratelimit-reset-requests: 1m30s\r\n"
		      "x-ratelimit-remaining-tokens: 5\r\nx-ratelimit-reset-tokens: 9h\r\n") == 90, "the limit that ran out");
	ok(wait_asked("x-ratelimit-remaining-tokens: 0\r\nx-ratelimit-reset-tokens: 250ms\r\n") == 0.25, "milliseconds");
	ok(isnan(wait_asked("")) && isnan(wait_asked("Retry-After: soon\r\n")) && isnan(wait_asked("Retry-After: -5\r\n")) &&
	   isnan(wait_asked("Retry-After:\r\n")) && isnan(wait_asked("Retry-After: 1e999\r\n")), "none, or nonsense");
}

/* Sums ------------------------------------------------------------------------------------------------------------ */

static void test_sums(void)
{
	struct usage a = { 1, 2, 3, 4, 5 }, b = { 10, -1, 0, 1, -1 };
	struct buf out = BUF_INIT;

	usage_add(&a, &b);
	usage_emit(&out, &a);
	ok(same(out.data, "{\"fresh_in\":11,\"cache_read\":null,\"cache_write\":3,\"out\":5,\"reasoning\":null}"),
	   "unknown in one is unknown in the sum");
	buf_release(&out);
}

int main(void)
{
	test_calls();
	test_content();
	test_usage();
	test_errors();
	test_waits();
	test_sums();
	return done_testing();
}
