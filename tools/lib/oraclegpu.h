/* A task's oracle on a GPU, held against the host's: the inputs must be the same bytes, references and the matrix
 * product the same up to rounding. For workloads of the tier bench, too large for the host, it tells the time each
 * takes instead. */
#ifndef ORACLEGPU_H
#define ORACLEGPU_H
#include "buf.h"
#include "task.h"
#include <stdint.h>

/* Appends a line per workload and per product. 0 when everything agrees, -1 with the reason when not. */
int oraclegpu_check(const struct task *t, const char *tier, int device, uint64_t seed, struct buf *out, struct err *e);
#endif
