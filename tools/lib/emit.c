/* JSON written straight into a buf. */
#include "emit.h"
#include "utf8.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A comma, unless the value is the first of its bracket, follows its key, or begins the text or a line. */
static void comma(struct buf *b)
{
	if (b->len && !strchr("{[:,\n", b->data[b->len - 1]))
		buf_addch(b, ',');
}

void emit_open(struct buf *b, char bracket)
{
	comma(b);
	buf_addch(b, bracket);
}

void emit_close(struct buf *b, char bracket)
{
	buf_addch(b, bracket);
}

static void escape(struct buf *b, unsigned char c)
{
	static const char letter[] = { ['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r',
				       ['"'] = '"', ['\\'] = '\\' };

	if (letter[c]) {
		buf_addch(b, '\\');
		buf_addch(b, letter[c]);
	} else {
		buf_addf(b, "\\u%04x", c);
	}
}

void emit_strn(struct buf *b, const char *s, size_t n)
{
	size_t start = 0, i = 0, len;	/* s[start..i) is plain and not yet copied */

	if (!s) {
		emit_null(b);
		return;
	}
	comma(b);
	buf_reserve(b, n + 2);
	buf_addch(b, '"');
	while (i < n) {
		len = utf8_sequence(s + i, n - i);
		if (len > 1 || (len == 1 && (unsigned char)s[i] >= 0x20 && s[i] != '"' && s[i] != '\\')) {
			i += len;
			continue;
		}
		buf_add(b, s + start, i - start);
		if (len)
			escape(b, (unsigned char)s[i]);
		else
			buf_addstr(b, "\xef\xbf\xbd");
		start = ++i;
	}
	buf_add(b, s + start, n - start);
	buf_addch(b, '"');
}

void emit_str(struct buf *b, const char *s)
{
	emit_strn(b, s, s ? strlen(s) : 0);
}

void emit_key(struct buf *b, const char *key)
{
	emit_str(b, key);
	buf_addch(b, ':');
}

void emit_num(struct buf *b, double x)
{
	if (!isfinite(x)) {
		emit_null(b);
		return;
	}
	comma(b);
	buf_addf(b, "%.17g", x);
}

void emit_int(struct buf *b, long long x)
{
	comma(b);
	buf_addf(b, "%lld", x);
}

void emit_seed(struct buf *b, uint64_t seed)
{
	char text[32];

	snprintf(text, sizeof(text), "0x%016llx", (unsigned long long)seed);
	emit_str(b, text);
}

void emit_bool(struct buf *b, bool x)
{
	comma(b);
	buf_addstr(b, x ? "true" : "false");
}

void emit_null(struct buf *b)
{
	comma(b);
	buf_addstr(b, "null");
}

void emit_raw(struct buf *b, const char *json, size_t n)
{
	comma(b);
	/* a newline at the end would be taken for the end of a line by the next comma() */
	while (n && strchr(" \t\r\n", json[n - 1]))
		n--;
	buf_add(b, json, n);
}

void emit_kstr(struct buf *b, const char *key, const char *s)
{
	emit_key(b, key);
	emit_str(b, s);
}

void emit_kstrn(struct buf *b, const char *key, const char *s, size_t n)
{
	emit_key(b, key);
	emit_strn(b, s, n);
}

void emit_knum(struct buf *b, const char *key, double x)
{
	emit_key(b, key);
	emit_num(b, x);
}

void emit_kgiven(struct buf *b, const char *key, double x)
{
	char text[32] = "null";

	for (int digits = 15; digits <= 17 && isfinite(x); digits++) {
		snprintf(text, sizeof text, "%.*g", digits, x);
		if (strtod(text, NULL) == x)
			break;
	}
	emit_kraw(b, key, text, strlen(text));
}

void emit_kint(struct buf *b, const char *key, long long x)
{
	emit_key(b, key);
	emit_int(b, x);
}

void emit_kcount(struct buf *b, const char *key, long long x)
{
	if (x < 0)
		emit_knull(b, key);
	else
		emit_kint(b, key, x);
}

void emit_kseed(struct buf *b, const char *key, uint64_t seed)
{
	emit_key(b, key);
	emit_seed(b, seed);
}

void emit_kbool(struct buf *b, const char *key, bool x)
{
	emit_key(b, key);
	emit_bool(b, x);
}

void emit_knull(struct buf *b, const char *key)
{
	emit_key(b, key);
	emit_null(b);
}

void emit_kraw(struct buf *b, const char *key, const char *json, size_t n)
{
	emit_key(b, key);
	emit_raw(b, json, n);
}
