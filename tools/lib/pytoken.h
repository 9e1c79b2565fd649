/* Python source as tokens: what is code, what is a comment, what is only a string.
 *
 * The lexical rules are Python 3.12's (nested f-strings included), so '#' in a string and '//' are what they are.
 * Grammar is not checked: text that Python would refuse for its grammar still has tokens. Lines end in \n, \r\n or
 * \r. */
#ifndef PYTOKEN_H
#define PYTOKEN_H
#include "die.h"
#include <stdbool.h>
#include <stddef.h>

enum pytoken_kind {
	PY_NAME,	/* identifiers and keywords */
	PY_NUMBER,
	PY_STRING,	/* a whole literal with prefix and quotes; of an f-string: opening, literal parts, end */
	PY_OP,
	PY_COMMENT,
	PY_NEWLINE,	/* the end of a logical line */
	PY_INDENT,
	PY_DEDENT
};

struct pytoken {
	enum pytoken_kind kind;
	size_t at, len;		/* in the text; INDENT and DEDENT have no length */
	int line;		/* of its first byte, from 1 */
};

struct pytokens {
	struct pytoken *v;
	size_t n, cap;
};

/* Splits the text. A fragment may start and end anywhere in a program: its indentation and brackets need not match.
 * 0, or -1 with "line N: why" for what no tokens can be made of. t starts zeroed. */
int pytokens_read(struct pytokens *t, const char *text, size_t n, bool fragment, struct err *e);
void pytokens_release(struct pytokens *t);
#endif
