/* One HTTP POST: the one door to libcurl. The body is sent from the pieces it lies in, so a long conversation is never
 * copied. Redirects are not followed (a key must not travel), only http and https are spoken. */
#ifndef HTTP_H
#define HTTP_H
#include "buf.h"
#include "die.h"
#include <stddef.h>

struct http_piece {
	const char *p;
	size_t n;
};

struct http_request {
	const char *url;
	const char *const *headers;	/* "Name: value", NULL-terminated */
	const struct http_piece *pieces;
	int npieces;
	double timeout;			/* seconds for the whole exchange */
};

struct http_response {
	long status;
	struct buf headers, body;	/* headers: the lines of the last header block */
};

enum http_end {
	HTTP_OK,		/* an answer came, whatever its status */
	HTTP_AWAY,		/* transport error that may pass: refused, reset, timed out, cut off */
	HTTP_UNUSABLE,		/* will not work later either: bad URL, certificate refused, answer too long */
	HTTP_INTERRUPTED	/* child_interrupted was set */
};

struct http;			/* libcurl's state, kept between requests; each has a connection of its own */
struct http *http_open(void);
void http_close(struct http *h);
enum http_end http_post(struct http *h, const struct http_request *q, struct http_response *r, struct err *e);
void http_response_release(struct http_response *r);

/* Seconds the server asks to wait: retry-after-ms, Retry-After (seconds or date), or the reset time of an exhausted
 * x-ratelimit-*; NaN when it does not say. */
double http_wait_asked(const struct http_response *r);
#endif
