/* Splits both text and quotation the same way and compares piece by piece. */
#include "quote.h"
#include "pytoken.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static void add_piece(struct quotable *q, const char *text, size_t n, int line, bool shows)
{
	q->v = xgrow(q->v, &q->cap, q->n + 1, sizeof *q->v);
	q->v[q->n++] = (struct quote_piece){ xstrndup(text, n), n, line, shows };
}

static int add_tokens(struct quotable *q, const char *text, size_t n, bool fragment, struct err *e)
{
	struct pytokens t = { NULL, 0, 0 };
	int r = pytokens_read(&t, text, n, fragment, e);
	size_t i;

	for (i = 0; !r && i < t.n; i++) {
		const struct pytoken *k = &t.v[i];

		if (k->kind == PY_NAME || k->kind == PY_NUMBER || k->kind == PY_STRING || k->kind == PY_OP)
			add_piece(q, text + k->at, k->len, k->line, k->kind != PY_STRING);
	}
	pytokens_release(&t);
	return r;
}

static bool word_char(char c)
{
	return isalnum((unsigned char)c) || (unsigned char)c >= 0x80;
}

static void add_words(struct quotable *q, const char *text, size_t n)
{
	size_t i = 0, start, k;
	int line = 1;

	while (i < n) {
		if (!word_char(text[i])) {
			line += text[i++] == '\n';
			continue;
		}
		for (start = i; i < n && word_char(text[i]); i++)
			;
		add_piece(q, text + start, i - start, line, true);
		for (k = 0; k < i - start; k++)
			q->v[q->n - 1].text[k] = (char)tolower((unsigned char)text[start + k]);
	}
}

int quotable_python(struct quotable *q, const char *text, size_t n, struct err *e)
{
	return add_tokens(q, text, n, false, e);
}

void quotable_prose(struct quotable *q, const char *text, size_t n)
{
	q->prose = true;
	add_words(q, text, n);
}

void quotable_release(struct quotable *q)
{
	size_t i;

	for (i = 0; i < q->n; i++)
		free(q->v[i].text);
	free(q->v);
	*q = (struct quotable){ 0 };
}

static bool same(const struct quote_piece *a, const struct quote_piece *b)
{
	return a->len == b->len && !memcmp(a->text, b->text, a->len);
}

/* Index of the first place in q where n pieces occur, or -1. */
static long find_run(const struct quotable *q, const struct quote_piece *v, size_t n)
{
	size_t i, k;

	for (i = 0; i + n <= q->n; i++) {
		for (k = 0; k < n && same(&q->v[i + k], &v[k]); k++)
			;
		if (k == n)
			return (long)i;
	}
	return -1;
}

static bool is_ellipsis(const struct quote_piece *p)
{
	return p->len == 3 && !memcmp(p->text, "...", 3);
}

enum quote_found quote_find(const struct quotable *q, const char *quotation, int *line)
{
	struct quotable part = { .prose = q->prose };
	enum quote_found found = QUOTE_ABSENT;
	size_t from = 0, to, i, showing = 0;
	long at;

	*line = 0;
	if (q->prose)
		add_words(&part, quotation, strlen(quotation));
	else if (add_tokens(&part, quotation, strlen(quotation), true, NULL))
		goto done;
	to = part.n;
	while (!q->prose && from < to && is_ellipsis(&part.v[from]))
		from++;
	while (!q->prose && to > from && is_ellipsis(&part.v[to - 1]))
		to--;
	at = find_run(q, part.v + from, to - from);
	if (at < 0)
		goto done;
	if (to > from)
		*line = q->v[at].line;
	for (i = from; i < to; i++)
		showing += part.v[i].shows;
	found = showing < QUOTE_MIN ? QUOTE_TRIVIAL : QUOTE_PRESENT;
done:
	quotable_release(&part);
	return found;
}
