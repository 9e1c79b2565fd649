/* One submission judged: the question, the answers it took, and the section that comes of it. */
#ifndef JUDGING_H
#define JUDGING_H
#include "inquiry.h"
#include "model.h"
#include "verdict.h"

enum judging_status {
	JUDGING_SCORED,
	JUDGING_UNSCORED,	/* no answer could be read: neither a pass nor a zero */
	JUDGING_NOTHING		/* nothing to judge: the agent handed in nothing, or no Python */
};

struct judging {
	enum inquiry_kind kind;
	const char *material;	/* borrowed; NULL when the agent handed in nothing */
	struct inquiry inquiry;
	enum judging_status status;
	struct err reason;	/* why there is no score */
	struct verdicts verdicts;
	char *answer;		/* the last answer */
	struct usage usage;	/* over all answers */
	int asked, requests;	/* answers, and requests it took to get them */
};

/* Makes the question about j->material; the status is JUDGING_NOTHING where there is none to make. 0, or -1 and why
 * when the tool's own files are missing. j starts zeroed, apart from kind and material. */
int judging_start(struct judging *j, const struct guidance *g, struct err *e);
/* Asks until an answer can be read, 1 + retries times at most. MODEL_OK with the status set, or what the model ended
 * with, and why. */
enum model_end judging_ask(struct judging *j, struct model *m, const struct guidance *g, int retries, struct err *e);
/* The `judge` section. name is what the caller knows the judge by. */
void judging_emit(struct buf *out, const struct judging *j, const char *name, const struct model *m,
		  const struct guidance *g);
void judging_release(struct judging *j);
#endif
