/* Text made fit for a model to read. */
#include "clip.h"
#include "utf8.h"

static void add_clean(struct buf *out, const char *text, size_t n)
{
	for (size_t len; n; text += len, n -= len) {
		size_t plain = 0;

		while (plain < n && (signed char)text[plain] > 0)
			plain++;
		len = plain ? plain : utf8_sequence(text, n);
		if (len && *text)
			buf_add(out, text, len);
		else
			buf_addstr(out, "\xef\xbf\xbd");
		len = len ? len : 1;
	}
}

void clip_text(struct buf *out, const char *text, size_t n, size_t shown)
{
	size_t head, tail;

	if (n <= shown) {
		add_clean(out, text, n);
		return;
	}
	head = utf8_cut(text, n, shown / 2);
	tail = utf8_cut(text, n, n - shown / 2);	/* where the tail begins */
	add_clean(out, text, head);
	buf_addf(out, "\n[... %zu of %zu bytes left out ...]\n", tail - head, n);
	add_clean(out, text + tail, n - tail);
}
