/* What a judge is asked about one submission. It is made of four things and nothing else: the judge's instructions
 * (tools/judge/KIND.md), the task's text, the list of properties, and the material: source without comments and
 * docstrings, or a design in words. */
#ifndef INQUIRY_H
#define INQUIRY_H
#include "buf.h"
#include "die.h"
#include "guidance.h"
#include "hash.h"
#include "quote.h"

enum inquiry_kind { INQUIRY_IMPLEMENTATION, INQUIRY_DESIGN };
extern const char *const inquiry_kind_name[];	/* "implementation" "design" */

struct inquiry {
	struct buf system, user;
	struct quotable text;	/* the material, for checking quotes; its lines are those of the submission */
	char hash[HASH_HEX];	/* over system and user: the same question has the same hash */
};

/* Makes the question; the marks around the material carry a number that follows from the whole content, so that no
 * material can hold its own. 0; 1 and why when the material cannot be judged (the source is not Python, or holds no
 * code); -1 and why when a file is missing. */
int inquiry_make(struct inquiry *q, enum inquiry_kind kind, const struct guidance *g, const char *material,
		 struct err *e);
void inquiry_release(struct inquiry *q);
/* The two messages as a JSON array. */
void inquiry_messages(const struct inquiry *q, struct buf *out);
#endif
