/* The strict reader of one line: is it exactly one JSON object (RFC 8259) in valid UTF-8, without duplicate keys at
 * any level, without raw NUL, nested at most SCAN_DEPTH deep? One pass, no copy; yields the members of the top level
 * as spans of the line. Lone surrogate escapes and \u0000 are legal JSON text and pass. Numbers of any size pass:
 * nothing is converted. */
#ifndef SCAN_H
#define SCAN_H
#include "buf.h"
#include "die.h"
#include <stdbool.h>
#include <stddef.h>

enum { SCAN_DEPTH = 200, SCAN_MEMBERS = 64 };

struct span {
	const char *p;
	size_t n;
};

/* One member of the top-level object: raw bytes, key without its quotes. */
struct scan_member {
	struct span key, value;
};

struct scan {
	struct scan_member member[SCAN_MEMBERS];	/* more than SCAN_MEMBERS at the top level is an error */
	int n;
	size_t end;	/* offset of the closing '}' */
};

/* 0, or -1 with the reason and the byte column in e. */
int scan_object(const char *line, size_t n, struct scan *s, struct err *e);
/* The member with this key, or NULL. */
const struct scan_member *scan_find(const struct scan *s, const char *key);
/* The same checks for any JSON value (an API reply, a file); members are not collected. */
int scan_value(const char *text, size_t n, struct err *e);
/* Appends the text of a checked string (what lies between its quotes) with its escapes decoded. */
void scan_decode(struct span inside, struct buf *out);
/* The character of the checked \u escape at p; *len is 12 for a surrogate pair, else 6. NUL and a lone surrogate are
 * U+FFFD, here and everywhere that strings are read. */
unsigned scan_unicode(const char *p, const char *end, size_t *len);
#endif
