/* The transcript of one run: a folder with transcript.jsonl, one event a line, and a lock that lets only one process
 * work on it. A line is written in one piece and synced before the next event may begin, so whatever kills the process,
 * the file holds whole events and at most one torn last line, which opening removes. */
#ifndef TRANSCRIPT_H
#define TRANSCRIPT_H
#include "buf.h"
#include "die.h"
#include "hash.h"
#include "json.h"

struct transcript {
	char *path;		/* of transcript.jsonl */
	int fd, lock;
};

enum transcript_end { TRANSCRIPT_OK, TRANSCRIPT_BUSY, TRANSCRIPT_BROKEN };

/* Makes the folder where it is missing and takes the lock, which a child never inherits. */
enum transcript_end transcript_open(struct transcript *t, const char *dir, struct err *e);
void transcript_close(struct transcript *t);
/* Calls event for each line from the first; stops with -1 when event does, or a line in the middle is damaged. */
int transcript_read(struct transcript *t, int (*event)(const struct json *line, void *ctx, struct err *e), void *ctx,
		    struct err *e);
/* Appends one JSON object (without a newline) and syncs. */
int transcript_append(struct transcript *t, const struct buf *line, struct err *e);
int transcript_hash(const struct transcript *t, char hex[HASH_HEX], struct err *e);
#endif
