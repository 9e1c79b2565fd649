/* A growable byte buffer. data is always NUL-terminated after the first append; len does not count that NUL. */
#ifndef BUF_H
#define BUF_H
#include <stddef.h>

struct buf {
	char *data;
	size_t len, cap;
};
#define BUF_INIT { NULL, 0, 0 }

void buf_reserve(struct buf *b, size_t extra);
void buf_add(struct buf *b, const void *p, size_t n);
void buf_addstr(struct buf *b, const char *s);
void buf_addch(struct buf *b, char c);
void buf_addf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void buf_addbuf(struct buf *b, const struct buf *other);
/* Sets the length to 0 and keeps the memory. */
void buf_reset(struct buf *b);
void buf_release(struct buf *b);
/* Hands the string to the caller (who frees it) and leaves b empty. Never NULL. */
char *buf_detach(struct buf *b);
#endif
