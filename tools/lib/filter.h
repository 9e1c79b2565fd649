/* The loop every tool shares: JSON lines in, each with one section added, JSON lines out, flushed line by line.
 *
 * A line that is no record (scan.h) or is 64 MiB or longer is reported as NAME:LINE and dropped; the stream goes on and
 * the exit code becomes 1. A record that already has the section passes through untouched unless redo. The last line
 * need not end in a newline. A failing stdout ends the program with a message and exit 1 (EPIPE too). */
#ifndef FILTER_H
#define FILTER_H
#include "buf.h"
#include "record.h"

enum { FILTER_LINE_MAX = 64 << 20 };

enum filter_result {
	FILTER_ADD,	/* the section is in `out`; write it */
	FILTER_PASS,	/* nothing to do for this record; pass it on as it is */
	FILTER_BAD,	/* cannot process it (already reported by warn); pass it on as it is, exit 1 */
	FILTER_AGAIN,	/* endpoint or GPU away; pass it on as it is, exit 75 in the end */
	FILTER_STOP	/* interrupted: pass this and everything still unread through as it is, exit 75 */
};

struct filter {
	const char *section;	/* the member this tool adds */
	bool redo;		/* replace an existing section */
	/* Appends the section's JSON value to out. */
	enum filter_result (*process)(const struct record *r, struct buf *out, void *ctx);
	void *ctx;
};

/* Reads the n files ("-" is stdin; none is stdin) and returns the exit code. Call it last in main. */
int filter_run(const struct filter *f, char *const *files, int n);

/* A reader of lines for programs that only read (d2k-score): 1 with a record in r, 0 at the end of all input. Bad
 * lines are reported and counted in *bad. r->line is valid until the next call. */
struct reader;
struct reader *reader_open(char *const *files, int n);
int reader_next(struct reader *rd, struct record *r, int *bad);
void reader_close(struct reader *rd);

/* Flushes and closes stdout; a write that failed anywhere ends the program with exit 1. */
void stdout_close(void);
#endif
