/* Text tables. Widths are counted in characters; control bytes in cells are shown as '?'. */
#include "table.h"
#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GAP = 2 };	/* blanks between columns */

void table_init(struct table *t, const char *title)
{
	*t = (struct table){ .title = title };
}

static void add_cell(struct table *t, char *text)
{
	char *p;

	for (p = text; *p; p++)
		if (iscntrl((unsigned char)*p))
			*p = '?';
	t->cell = xgrow(t->cell, &t->cap, t->n + 1, sizeof *t->cell);
	t->cell[t->n++] = text;
}

void table_column(struct table *t, char align, const char *header)
{
	if (t->columns == TABLE_COLUMNS)
		die("table '%s' has more than %d columns", t->title, TABLE_COLUMNS);
	t->align[t->columns++] = align;
	add_cell(t, xstrdup(header));
}

void table_cell(struct table *t, const char *fmt, ...)
{
	char text[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	add_cell(t, xstrdup(text));
}

void table_number(struct table *t, double x, int decimals, const char *unit)
{
	if (isnan(x))
		table_cell(t, "-");
	else
		table_cell(t, "%.*f%s", decimals, x, unit);
}

/* A figure that rounds to nothing has no sign. */
void table_signed(struct table *t, double x, int decimals, const char *unit)
{
	if (fabs(x) < 0.5 * pow(10, -decimals))
		x = 0;
	if (isnan(x) || x == 0)
		table_number(t, x, decimals, unit);
	else
		table_cell(t, "%+.*f%s", decimals, x, unit);
}

void table_rule(struct table *t)
{
	t->rule = xgrow(t->rule, &t->rules_cap, t->nrules + 1, sizeof *t->rule);
	t->rule[t->nrules++] = t->n;
}

int table_rows(const struct table *t)
{
	return t->columns ? (int)(t->n / (size_t)t->columns) - 1 : 0;
}

void table_release(struct table *t)
{
	size_t i;

	for (i = 0; i < t->n; i++)
		free(t->cell[i]);
	free(t->cell);
	free(t->rule);
	free(t->note);
	*t = (struct table){ 0 };
}

/* Text ------------------------------------------------------------------------------------------------------------ */

static int width_of(const char *s)
{
	int n = 0;

	for (; *s; s++)
		n += ((unsigned char)*s & 0xC0) != 0x80;
	return n;
}

/* Bytes of the first n characters. */
static int bytes_of(const char *s, int n)
{
	const char *p = s;

	while (*p && (n > 0 || ((unsigned char)*p & 0xC0) == 0x80)) {
		n -= ((unsigned char)*p & 0xC0) != 0x80;
		if (n < 0)
			break;
		p++;
	}
	return (int)(p - s);
}

static void find_widths(const struct table *t, int width[TABLE_COLUMNS])
{
	int total = GAP * (t->columns - 1), c, widest = -1;
	size_t i;

	for (c = 0; c < t->columns; c++)
		width[c] = 0;
	for (i = 0; i < t->n; i++) {
		c = (int)(i % (size_t)t->columns);
		if (width_of(t->cell[i]) > width[c])
			width[c] = width_of(t->cell[i]);
	}
	for (c = 0; c < t->columns; c++)
		total += width[c];
	while (total > TABLE_WIDTH) {
		widest = -1;
		for (c = 0; c < t->columns; c++)
			if (t->align[c] == 'l' && width[c] > 8 && (widest < 0 || width[c] > width[widest]))
				widest = c;
		if (widest < 0)
			return;
		width[widest]--;
		total--;
	}
}

static void pad(struct buf *out, int n, char c)
{
	while (n-- > 0)
		buf_addch(out, c);
}

static void put_cell(struct buf *out, const char *s, int width, char align, bool last)
{
	int w = width_of(s);

	if (w > width) {
		buf_add(out, s, (size_t)bytes_of(s, width - 1));
		buf_addch(out, '~');
		w = width;
	} else if (align == 'r') {
		pad(out, width - w, ' ');
		buf_addstr(out, s);
		w = width;
	} else {
		buf_addstr(out, s);
	}
	if (!last)
		pad(out, width - w + GAP, ' ');
}

static void put_rule(const struct table *t, const int *width, struct buf *out)
{
	int c, total = GAP * (t->columns - 1);

	for (c = 0; c < t->columns; c++)
		total += width[c];
	pad(out, total, '-');
	buf_addch(out, '\n');
}

/* Without the blanks of empty cells at its end. */
static void end_line(struct buf *out)
{
	while (out->len && out->data[out->len - 1] == ' ')
		out->len--;
	buf_addch(out, '\n');
}

static bool rule_before(const struct table *t, size_t i)
{
	size_t k;

	for (k = 0; k < t->nrules; k++)
		if (t->rule[k] == i)
			return true;
	return i == (size_t)t->columns;	/* under the header */
}

void table_text(const struct table *t, struct buf *out)
{
	int width[TABLE_COLUMNS], c;
	size_t i;

	buf_addf(out, "%s\n", t->title);
	if (t->note)
		wrap_text(out, t->note, "", "");
	buf_addch(out, '\n');
	find_widths(t, width);
	for (i = 0; i < t->n; i++) {
		c = (int)(i % (size_t)t->columns);
		if (rule_before(t, i))
			put_rule(t, width, out);
		put_cell(out, t->cell[i], width[c], t->align[c], c + 1 == t->columns);
		if (c + 1 == t->columns)
			end_line(out);
	}
	buf_addch(out, '\n');
}

void wrap_text(struct buf *out, const char *text, const char *first, const char *rest)
{
	int room = TABLE_WIDTH - width_of(first), col = 0;
	size_t n;

	buf_addstr(out, first);
	for (text += strspn(text, " "); *text; text += n, text += strspn(text, " ")) {
		char *word;

		n = strcspn(text, " ");
		word = xstrndup(text, n);
		if (col && col + 1 + width_of(word) > room) {
			buf_addf(out, "\n%s", rest);
			room = TABLE_WIDTH - width_of(rest);
			col = 0;
		}
		buf_addf(out, "%s%s", col ? " " : "", word);
		col += (col > 0) + width_of(word);
		free(word);
	}
	buf_addch(out, '\n');
}

/* Markdown -------------------------------------------------------------------------------------------------------- */

static void put_escaped(struct buf *out, const char *s)
{
	for (; *s; s++) {
		if (strchr("\\|*_`<[", *s))
			buf_addch(out, '\\');
		buf_addch(out, *s);
	}
}

void table_markdown(const struct table *t, struct buf *out)
{
	size_t i, columns = (size_t)t->columns, k;

	buf_addf(out, "## %s\n\n", t->title);
	if (t->note)
		buf_addf(out, "%s\n\n", t->note);
	for (i = 0; i < t->n; i++) {
		buf_addstr(out, i % columns ? " " : "| ");
		put_escaped(out, t->cell[i]);
		buf_addstr(out, i % columns + 1 == columns ? " |\n" : " |");
		if (i + 1 != columns)
			continue;
		for (k = 0; k < columns; k++)
			buf_addstr(out, t->align[k] == 'r' ? "|---:" : "|:---");
		buf_addstr(out, "|\n");
	}
	buf_addch(out, '\n');
}
