/* A text that can be quoted: Python source by its tokens, or prose by its words, so that spacing and line ends of a
 * quotation do not matter and anything else does. */
#ifndef QUOTE_H
#define QUOTE_H
#include "die.h"
#include <stdbool.h>
#include <stddef.h>

/* What a quotation must hold to show anything: tokens outside string literals, or words. */
enum { QUOTE_MIN = 3 };

struct quote_piece {
	char *text;
	size_t len;
	int line;		/* from 1 */
	bool shows;		/* counts toward QUOTE_MIN */
};

struct quotable {
	bool prose;
	struct quote_piece *v;
	size_t n, cap;
};

enum quote_found {
	QUOTE_ABSENT,		/* not in the text */
	QUOTE_TRIVIAL,		/* there, but too short to show anything; also when empty */
	QUOTE_PRESENT
};

/* Python source (comments are left out); 0, or -1 with "line N: why". q starts zeroed. */
int quotable_python(struct quotable *q, const char *text, size_t n, struct err *e);
/* Words: letters and digits, without case; punctuation separates them. */
void quotable_prose(struct quotable *q, const char *text, size_t n);
void quotable_release(struct quotable *q);

/* Looks for the quotation as one unbroken run of pieces. "..." at its ends is dropped. *line gets where it begins, 0
 * when it is absent or empty. */
enum quote_found quote_find(const struct quotable *q, const char *quotation, int *line);
#endif
