/* Tables of text, filled cell by cell and row by row, the header first; printed for a terminal or as markdown. */
#ifndef TABLE_H
#define TABLE_H
#include "buf.h"
#include "die.h"
#include <stdbool.h>
#include <stddef.h>

enum { TABLE_COLUMNS = 20, TABLE_WIDTH = 100 };

struct table {
	const char *title;	/* borrowed */
	char *note;		/* a sentence under the title, or NULL; owned */
	char align[TABLE_COLUMNS];	/* 'l' or 'r' per column */
	int columns;
	char **cell;
	size_t n, cap;
	size_t *rule;		/* cells before which a line is drawn */
	size_t nrules, rules_cap;
};

void table_init(struct table *t, const char *title);
void table_column(struct table *t, char align, const char *header);	/* all of them before the first cell */
void table_cell(struct table *t, const char *fmt, ...) DIE_PRINTF(2, 3);
/* A number with so many decimals and a unit behind it; "-" when it is NaN. */
void table_number(struct table *t, double x, int decimals, const char *unit);
void table_signed(struct table *t, double x, int decimals, const char *unit);	/* "+" in front of positive ones */
void table_rule(struct table *t);
int table_rows(const struct table *t);
void table_release(struct table *t);

/* At most TABLE_WIDTH columns: the widest left-aligned column is shortened, with "~" at its end. */
void table_text(const struct table *t, struct buf *out);
void table_markdown(const struct table *t, struct buf *out);
/* Appends text in lines of at most TABLE_WIDTH columns: first in front of the first line, rest before the others. */
void wrap_text(struct buf *out, const char *text, const char *first, const char *rest);
#endif
