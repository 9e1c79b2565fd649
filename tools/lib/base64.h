/* Base64 (RFC 4648, padded). */
#ifndef BASE64_H
#define BASE64_H
#include <stddef.h>

/* The bytes and their number, for the caller to free; NULL when the text is not base64 or holds more than `most`. */
unsigned char *base64_decode(const char *text, size_t most, size_t *n);
#endif
