/* The inside of the reader of filter.h: lines of several files out of one large buffer, without copying them.
 *
 * reader_line() hands out lines that are already in the buffer; only reader_fill() waits for input, and it invalidates
 * every line handed out. So its caller knows when to flush: just before reader_fill(). */
#ifndef READER_H
#define READER_H
#include "filter.h"

/* 1 with the next line, without its newline, which is always there; 0 when reader_fill() is needed first. */
int reader_line(struct reader *rd, struct span *line);
/* 1 when there may be more, 0 at the end of the last file. */
int reader_fill(struct reader *rd);
/* Makes the line handed out last a record: 0, or -1 after reporting why it is none. */
int reader_record(struct reader *rd, struct span line, struct record *r);
/* Files that could not be read, lines too long and lines that were no record, up to now. */
int reader_bad(const struct reader *rd);
#endif
