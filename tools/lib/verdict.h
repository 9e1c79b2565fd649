/* A judge's answer, checked and counted.
 *
 * The answer is exactly one JSON object (a fence around it is allowed, nothing else):
 *
 *     {"verdicts":[{"id":"L1.1","verdict":"yes|partly|no","quotes":["..."],"reason":"..."}, ...]}
 *
 * with every id of the list once. "yes" and "partly" are void, and count as "no", unless every quote is in the judged
 * text and one of them at least is long enough to show something (quote.h). */
#ifndef VERDICT_H
#define VERDICT_H
#include "buf.h"
#include "guidance.h"
#include "quote.h"
#include <stdbool.h>

enum verdict { VERDICT_NO, VERDICT_PARTLY, VERDICT_YES };
extern const char *const verdict_name[];	/* "no" "partly" "yes" */

struct verdict_quote {
	char *text;
	int line;		/* 0: not in the text */
};

struct verdict_item {
	enum verdict verdict, counted;
	bool given;		/* the answer has it */
	struct verdict_quote *quotes;
	int nquotes;
	char *reason;
};

struct verdicts {
	struct verdict_item *v;	/* one per guidance item, in its order */
	int n;
};

/* Reads the answer; 0, or -1 and why it cannot be used. v starts zeroed. */
int verdicts_read(struct verdicts *v, const char *answer, const struct guidance *g, const struct quotable *text,
		  struct err *e);
void verdicts_release(struct verdicts *v);
void verdicts_emit(struct buf *out, const struct verdicts *v, const struct guidance *g);	/* a JSON list */

/* 0..100; NaN for a level without items. combined is the mean of the levels that have items. */
struct verdict_scores {
	double level[LEVELS], combined;
};
/* Weighted share of the items, yes 1, partly 0.5, no 0. Gated: an item counts only if everything it requires, directly
 * or through others, counts at least as "partly". */
void verdicts_score(const struct verdicts *v, const struct guidance *g, bool gated, struct verdict_scores *s);
void verdict_scores_emit(struct buf *out, const struct verdict_scores *s);	/* {"L1":..,"combined":..} */
#endif
