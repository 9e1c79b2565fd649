/* Text for a model to read. */
#ifndef CLIP_H
#define CLIP_H
#include "buf.h"
#include <stddef.h>

enum { CLIP_SHOWN = 32 << 10 };	/* bytes of a file or an output that one answer shows */

/* Appends at most `shown` bytes, head and tail kept on character boundaries with a note of how much was left out
 * between them; bytes that are not UTF-8 and NUL become U+FFFD. */
void clip_text(struct buf *out, const char *text, size_t n, size_t shown);
#endif
