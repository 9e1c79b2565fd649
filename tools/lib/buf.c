/* The growable byte buffer. */
#include "buf.h"
#include "die.h"
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void buf_reserve(struct buf *b, size_t extra)
{
	if (extra > SIZE_MAX - b->len - 1)
		die("out of memory (%zu bytes more)", extra);
	if (b->len + extra >= b->cap)
		b->data = xgrow(b->data, &b->cap, b->len + extra + 1, 1);
}

void buf_add(struct buf *b, const void *p, size_t n)
{
	buf_reserve(b, n);
	if (n)
		memcpy(b->data + b->len, p, n);
	b->len += n;
	b->data[b->len] = '\0';
}

void buf_addstr(struct buf *b, const char *s)
{
	buf_add(b, s, strlen(s));
}

void buf_addch(struct buf *b, char c)
{
	buf_add(b, &c, 1);
}

void buf_addf(struct buf *b, const char *fmt, ...)
{
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(NULL, 0, fmt, args);
	va_end(args);
	if (n < 0)
		die("cannot format '%s':", fmt);
	buf_reserve(b, (size_t)n);
	va_start(args, fmt);
	vsnprintf(b->data + b->len, (size_t)n + 1, fmt, args);
	va_end(args);
	b->len += (size_t)n;
}

void buf_addbuf(struct buf *b, const struct buf *other)
{
	buf_add(b, other->data, other->len);
}

void buf_reset(struct buf *b)
{
	b->len = 0;
	if (b->data)
		b->data[0] = '\0';
}

void buf_release(struct buf *b)
{
	free(b->data);
	*b = (struct buf)BUF_INIT;
}

char *buf_detach(struct buf *b)
{
	char *s = b->data ? b->data : xstrdup("");

	*b = (struct buf)BUF_INIT;
	return s;
}
