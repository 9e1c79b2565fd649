/* The report in its formats. A format prints what score.h holds and computes nothing; adding one is one file and one
 * line in report.c. */
#ifndef REPORT_H
#define REPORT_H
#include "buf.h"
#include "score.h"
#include "table.h"

struct report_format {
	const char *name;
	void (*print)(const struct score *s, struct buf *out);
};
extern const struct report_format report_text, report_markdown, report_json, report_csv;
/* NULL when there is no format of that name. */
const struct report_format *report_find(const char *name);

/* What the reader must know before believing a figure, one sentence at a time. */
void report_warnings(const struct score *s, void (*put)(const char *sentence, void *ctx), void *ctx);
/* The tables that text and markdown share, in order; those without a row are left out. Only the call's duration. */
void report_tables(const struct score *s, void (*put)(const struct table *t, void *ctx), void *ctx);
/* One sentence: records, models, tasks, devices. */
void report_summary(const struct score *s, struct buf *out);
/* What an incorrect task counts as, in words. */
void report_rule(const struct incorrect_rule *r, struct buf *out);
/* Is the arm among the records (design: among the judged)? */
bool report_has_arm(const struct score *s, int arm);
#endif
