/* The well-formed byte sequences of Unicode's table 3-7. */
#include "utf8.h"

size_t utf8_sequence(const char *text, size_t n)
{
	const unsigned char *p = (const unsigned char *)text;
	unsigned char low = 0x80, high = 0xbf;	/* range of the second byte */
	size_t len;

	if (n == 0)
		return 0;
	if (p[0] < 0x80)
		return 1;
	if (p[0] < 0xc2 || p[0] > 0xf4)
		return 0;
	len = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
	if (p[0] == 0xe0)
		low = 0xa0;	/* overlong */
	else if (p[0] == 0xed)
		high = 0x9f;	/* surrogates */
	else if (p[0] == 0xf0)
		low = 0x90;	/* overlong */
	else if (p[0] == 0xf4)
		high = 0x8f;	/* above U+10FFFF */
	if (n < len || p[1] < low || p[1] > high)
		return 0;
	for (size_t i = 2; i < len; i++)
		if (p[i] < 0x80 || p[i] > 0xbf)
			return 0;
	return len;
}

size_t utf8_cut(const char *p, size_t n, size_t max)
{
	size_t cut = max;

	if (n <= max)
		return n;
	while (cut > 0 && max - cut < 3 && ((unsigned char)p[cut] & 0xc0) == 0x80)
		cut--;
	/* bytes that are no sequence anyway are cut where asked */
	return utf8_sequence(p + cut, n - cut) > max - cut ? cut : max;
}
