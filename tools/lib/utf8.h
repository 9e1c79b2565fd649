/* UTF-8, strictly: no overlong forms, no surrogates, nothing above U+10FFFF. */
#ifndef UTF8_H
#define UTF8_H
#include <stddef.h>

/* Length (1..4) of the valid sequence at p, of at most n bytes; 0 when there is none. */
size_t utf8_sequence(const char *p, size_t n);
/* The longest prefix of at most max bytes that does not cut a sequence in two. */
size_t utf8_cut(const char *p, size_t n, size_t max);
#endif
