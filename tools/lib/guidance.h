/* Guidance of a task: guidance/NAME.json (format: tasks/README.md). The agent reads `text`, the judge reads `property`. */
#ifndef GUIDANCE_H
#define GUIDANCE_H
#include "buf.h"
#include "die.h"
#include "hash.h"

enum { LEVELS = 3 };
extern const char *const level_name[LEVELS];	/* "L1" "L2" "L3" */

struct guidance_item {
	char *id;		/* "L1.1" */
	int level;		/* 0..2 */
	char *text, *property;
	char **requires;	/* ids */
	int nrequires;
	double weight;
};

struct guidance {
	char *task;
	struct guidance_item *items;
	int n;
	char hash[HASH_HEX];	/* of the file */
};

/* Checks that ids are unique, begin with their level, and that every required id exists, without cycles. */
int guidance_load(struct guidance *g, const char *task, struct err *e);
void guidance_release(struct guidance *g);
int guidance_find(const struct guidance *g, const char *id);	/* index, or -1 */
/* The guidance block of a prompt for the levels in mask (bit 0: L1 ...). */
void guidance_text(const struct guidance *g, unsigned mask, struct buf *out);
/* Calls report for each id that an item inside the mask requires but that lies outside it, and returns how many. */
int guidance_missing(const struct guidance *g, unsigned mask,
		     void (*report)(const char *id, const char *needs, void *ctx), void *ctx);
#endif
