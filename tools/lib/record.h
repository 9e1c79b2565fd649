/* A record is one JSON object on one line. What is upstream passes through byte for byte: a record remembers its line
 * and where its members lie, and putting a section copies the line around it. */
#ifndef RECORD_H
#define RECORD_H
#include "buf.h"
#include "die.h"
#include "json.h"
#include "scan.h"

struct record {
	const char *line;	/* borrowed; without the newline */
	size_t len;
	struct scan scan;
	char where[300];	/* "<stdin>:LINE" or "FILE:LINE", for messages */
};

int record_open(struct record *r, const char *line, size_t len, struct err *e);
bool record_has(const struct record *r, const char *key);
/* The raw JSON of a member; .p is NULL when it is absent. */
struct span record_raw(const struct record *r, const char *key);
/* The member parsed; NULL when absent (e->text empty) or unreadable. The caller frees. */
struct json *record_get(const struct record *r, const char *key, struct err *e);
/* A string member in out (of size n, always terminated); false when absent, not a string, or too long. */
bool record_str(const struct record *r, const char *key, char *out, size_t n);
/* Appends the line to out with member `key` replaced in place, or added last. No newline. */
void record_put(const struct record *r, const char *key, const struct buf *json, struct buf *out);
#endif
