/* Base64. */
#include "base64.h"
#include "die.h"
#include <stdlib.h>
#include <string.h>

static int digit(char c)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *p = c ? strchr(digits, c) : NULL;

	return p ? (int)(p - digits) : -1;
}

/* Four characters, of which `digits` count, to the bytes they hold. -1: not base64. */
static int decode_group(const char *s, int digits, unsigned char *out)
{
	unsigned group = 0;

	for (int k = 0; k < 4; k++) {
		int d = k < digits ? digit(s[k]) : 0;

		if (d < 0)
			return -1;
		group = group << 6 | (unsigned)d;
	}
	for (int k = 0; k < digits - 1; k++)
		out[k] = (unsigned char)(group >> (16 - 8 * k));
	return digits - 1;
}

unsigned char *base64_decode(const char *text, size_t most, size_t *n)
{
	size_t len = strlen(text), pad = 0;
	unsigned char *out;

	while (pad < 2 && pad < len && text[len - 1 - pad] == '=')
		pad++;
	*n = 0;
	if (len % 4 || len / 4 * 3 - pad > most)
		return NULL;
	out = xmalloc(len / 4 * 3 + 1);
	for (size_t i = 0; i < len; i += 4) {
		int got = decode_group(text + i, i + 4 == len ? 4 - (int)pad : 4, out + *n);

		if (got < 0) {
			free(out);
			return NULL;
		}
		*n += (size_t)got;
	}
	return out;
}
