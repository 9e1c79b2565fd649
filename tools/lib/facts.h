/* What a build section says of a recorder's result: per kernel its resources and how it is launched, per workload the
 * size of the plan. Figures that are missing are null. */
#ifndef FACTS_H
#define FACTS_H
#include "buf.h"
#include "json.h"

/* Append the JSON values of "kernels" and "plans". */
void facts_kernels(const struct json *result, struct buf *out);
void facts_plans(const struct json *result, struct buf *out);
#endif
