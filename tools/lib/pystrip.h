/* Python source without what is only said about it. */
#ifndef PYSTRIP_H
#define PYSTRIP_H
#include "buf.h"
#include "die.h"
#include <stddef.h>

/* Appends the text without comments, docstrings and other statements that do nothing but hold a string (a string in
 * them, and no name). Every line stays on its line; where Python needs a statement, "pass" is put. 0, or -1 with
 * "line N: why" when the text cannot be split into tokens. */
int python_strip(const char *text, size_t n, struct buf *out, struct err *e);
#endif
