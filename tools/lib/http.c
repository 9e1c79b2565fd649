/* One HTTP POST over libcurl, and what the answer's headers say about waiting. */
#include "http.h"
#include "child.h"
#include <curl/curl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

enum { BODY_MAX = 64 << 20, CONNECT_SECONDS = 30 };

struct http {
	CURL *curl;
	char message[CURL_ERROR_SIZE];
};

/* Where the sending of the pieces has come to. */
struct upload {
	const struct http_request *q;
	int piece;
	size_t at;
};

struct http *http_open(void)
{
	struct http *h = xcalloc(1, sizeof *h);

	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK || !(h->curl = curl_easy_init()))
		die("cannot start libcurl");
	return h;
}

void http_close(struct http *h)
{
	if (!h)
		return;
	curl_easy_cleanup(h->curl);
	free(h);
}

static size_t send_pieces(char *out, size_t size, size_t count, void *ctx)
{
	struct upload *u = ctx;
	size_t room = size * count, done = 0;

	while (room && u->piece < u->q->npieces) {
		const struct http_piece *piece = &u->q->pieces[u->piece];
		size_t n = piece->n - u->at < room ? piece->n - u->at : room;

		memcpy(out + done, piece->p + u->at, n);
		done += n;
		room -= n;
		u->at += n;
		if (u->at == piece->n) {
			u->piece++;
			u->at = 0;
		}
	}
	return done;
}

/* libcurl begins again where a server refuses an HTTP/2 stream unread. */
static int rewind_pieces(void *ctx, curl_off_t offset, int origin)
{
	struct upload *u = ctx;

	if (offset != 0 || origin != SEEK_SET)
		return CURL_SEEKFUNC_CANTSEEK;
	u->piece = 0;
	u->at = 0;
	return CURL_SEEKFUNC_OK;
}

static size_t keep_body(char *p, size_t size, size_t count, void *ctx)
{
	struct http_response *r = ctx;

	if (r->body.len + size * count > BODY_MAX)
		return 0;
	buf_add(&r->body, p, size * count);
	return size * count;
}

/* A new status line ("100 Continue", a proxy's answer) begins a new block. */
static size_t keep_header(char *p, size_t size, size_t count, void *ctx)
{
	struct http_response *r = ctx;

	if (size * count > 5 && !strncmp(p, "HTTP/", 5))
		buf_reset(&r->headers);
	buf_add(&r->headers, p, size * count);
	return size * count;
}

static int stop_when_interrupted(void *ctx, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
	(void)ctx, (void)a, (void)b, (void)c, (void)d;
	return child_interrupted;
}

static enum http_end classify(CURLcode code, const struct http *h, struct err *e)
{
	const char *why = h->message[0] ? h->message : curl_easy_strerror(code);

	switch (code) {
	case CURLE_OK:
		return HTTP_OK;
	case CURLE_ABORTED_BY_CALLBACK:
		err_set(e, "interrupted");
		return HTTP_INTERRUPTED;
	case CURLE_WRITE_ERROR:
		err_set(e, "the answer is longer than %d MiB", BODY_MAX >> 20);
		return HTTP_UNUSABLE;
	case CURLE_UNSUPPORTED_PROTOCOL:
	case CURLE_URL_MALFORMAT:
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CACERT_BADFILE:
		err_set(e, "%s", why);
		return HTTP_UNUSABLE;
	default:
		err_set(e, "%s", why);
		return HTTP_AWAY;
	}
}

static struct curl_slist *header_list(const char *const *headers)
{
	struct curl_slist *list = curl_slist_append(NULL, "Expect:");	/* no round trip before the body */

	for (; list && *headers; headers++) {
		struct curl_slist *longer = curl_slist_append(list, *headers);

		if (!longer)
			curl_slist_free_all(list);
		list = longer;
	}
	if (!list)
		die("out of memory");
	return list;
}

enum http_end http_post(struct http *h, const struct http_request *q, struct http_response *r, struct err *e)
{
	struct curl_slist *headers = header_list(q->headers);
	struct upload upload = { .q = q };
	curl_off_t total = 0;
	CURLcode code;

	for (int i = 0; i < q->npieces; i++)
		total += (curl_off_t)q->pieces[i].n;
	h->message[0] = '\0';
	curl_easy_reset(h->curl);
	curl_easy_setopt(h->curl, CURLOPT_ERRORBUFFER, h->message);
	curl_easy_setopt(h->curl, CURLOPT_URL, q->url);
	curl_easy_setopt(h->curl, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(h->curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(h->curl, CURLOPT_TCP_KEEPALIVE, 1L);
	/* a kept connection that died would be replaced and the request sent again without our knowing */
	curl_easy_setopt(h->curl, CURLOPT_FRESH_CONNECT, 1L);
	curl_easy_setopt(h->curl, CURLOPT_FORBID_REUSE, 1L);
	curl_easy_setopt(h->curl, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_SECONDS);
	curl_easy_setopt(h->curl, CURLOPT_TIMEOUT_MS, (long)(q->timeout * 1e3));
	curl_easy_setopt(h->curl, CURLOPT_ACCEPT_ENCODING, "");
	curl_easy_setopt(h->curl, CURLOPT_POST, 1L);
	curl_easy_setopt(h->curl, CURLOPT_POSTFIELDSIZE_LARGE, total);
	curl_easy_setopt(h->curl, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(h->curl, CURLOPT_READFUNCTION, send_pieces);
	curl_easy_setopt(h->curl, CURLOPT_READDATA, &upload);
	curl_easy_setopt(h->curl, CURLOPT_SEEKFUNCTION, rewind_pieces);
	curl_easy_setopt(h->curl, CURLOPT_SEEKDATA, &upload);
	curl_easy_setopt(h->curl, CURLOPT_WRITEFUNCTION, keep_body);
	curl_easy_setopt(h->curl, CURLOPT_WRITEDATA, r);
	curl_easy_setopt(h->curl, CURLOPT_HEADERFUNCTION, keep_header);
	curl_easy_setopt(h->curl, CURLOPT_HEADERDATA, r);
	curl_easy_setopt(h->curl, CURLOPT_NOPROGRESS, 0L);
	curl_easy_setopt(h->curl, CURLOPT_XFERINFOFUNCTION, stop_when_interrupted);
	code = curl_easy_perform(h->curl);
	curl_easy_getinfo(h->curl, CURLINFO_RESPONSE_CODE, &r->status);
	curl_slist_free_all(headers);
	return classify(code, h, e);
}

void http_response_release(struct http_response *r)
{
	buf_release(&r->headers);
	buf_release(&r->body);
}

/* A header's value without surrounding blanks in out (empty when absent or too long); names are case-insensitive. */
static void header(const struct http_response *r, const char *name, char *out, size_t n)
{
	const char *line = r->headers.data, *end;
	size_t len = strlen(name);

	out[0] = '\0';
	for (; line && *line; line = end + 1) {
		if (!(end = strchr(line, '\n')))
			return;
		if (strncasecmp(line, name, len) || line[len] != ':')
			continue;
		line += len + 1;
		line += strspn(line, " \t");
		len = (size_t)(end - line);
		while (len && strchr(" \t\r", line[len - 1]))
			len--;
		if (len < n) {
			memcpy(out, line, len);
			out[len] = '\0';
		}
		return;
	}
}

/* duration = { number unit }, unit = "ms" | "s" | "m" | "h" | "d" | nothing (seconds); NaN when it is not one. */
static double duration(const char *s)
{
	static const struct { const char *unit; double seconds; } units[] = {
		{ "ms", 1e-3 }, { "s", 1 }, { "m", 60 }, { "h", 3600 }, { "d", 86400 }, { "", 1 } };
	double total = 0, x;
	char *end;

	do {
		size_t i = 0, len;

		x = strtod(s, &end);
		if (end == s || !isfinite(x) || x < 0)
			return NAN;
		len = strspn(end, "smhd");
		while (strlen(units[i].unit) != len || strncmp(units[i].unit, end, len))
			if (++i == sizeof units / sizeof *units)
				return NAN;
		total += x * units[i].seconds;
		s = end + len;
	} while (*s);
	return total;
}

/* The longest reset time among the limits of which nothing remains. */
static double reset_asked(const struct http_response *r)
{
	static const char *const limits[] = { "requests", "tokens", "input-tokens", "output-tokens" };
	double longest = NAN, wait;
	char name[64], value[64];

	for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
		snprintf(name, sizeof name, "x-ratelimit-remaining-%s", limits[i]);
		header(r, name, value, sizeof value);
		if (strcmp(value, "0"))
			continue;
		snprintf(name, sizeof name, "x-ratelimit-reset-%s", limits[i]);
		header(r, name, value, sizeof value);
		wait = duration(value);
		longest = fmax(longest, wait);	/* fmax passes over a NaN */
	}
	return longest;
}

double http_wait_asked(const struct http_response *r)
{
	char value[64];
	double wait;
	time_t date;

	header(r, "retry-after-ms", value, sizeof value);
	wait = duration(value);
	if (!isnan(wait))
		return wait / 1e3;
	header(r, "retry-after", value, sizeof value);
	wait = duration(value);
	if (!isnan(wait))
		return wait;
	date = curl_getdate(value, NULL);
	if (date != -1)
		return fmax(0, difftime(date, time(NULL)));
	return reset_asked(r);
}
