/* What the tables of the report have in common: the rows of totals, and the list of tables. */
#ifndef REPORT_TABLES_H
#define REPORT_TABLES_H
#include "report.h"

/* Rows of totals: one per model, then all models under a line if there are several. */
int total_rows(const struct score *s);
const struct total *total_at(const struct score *s, int i);
const char *total_name(const struct score *s, int i);
/* The line before row i of totals, where it takes one. */
void total_rule(struct table *t, const struct score *s, int i);
bool has_pair(const struct score *s);	/* both arms, without and with */
void table_percent(struct table *t, double ratio);	/* "+33.9 %" from 1.339 */

/* In report_scores.c: what was judged, used up, and how it ended. */
void table_implementation(const struct score *s, struct table *t);
void table_design(const struct score *s, struct table *t);
void table_tokens(const struct score *s, struct table *t);
void table_endings(const struct score *s, struct table *t);
void table_judgings(const struct score *s, struct table *t);
#endif
