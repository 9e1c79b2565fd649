/* Looking at a task's oracle by hand: does it compile for both sides, what does it make, and its tensors as files.
 * Runs on the host; no GPU is needed. */
#ifndef ORACLEFILE_H
#define ORACLEFILE_H
#include "buf.h"
#include "oracle.h"
#include <stdint.h>

/* Compiles for the host and, by NVRTC, for arch; runs each workload of the tier and appends a table of all tensors and
 * references (least, greatest, rms, non-finite, hash of the bytes). */
int oraclefile_check(const struct task *t, const char *tier, const char *arch, uint64_t seed, struct buf *out,
		     struct err *e);
/* Writes DIR/NAME.raw per input, DIR/ref_NAME.raw (doubles) per output, and DIR/index.json that describes them. */
int oraclefile_dump(const struct task *t, const char *workload, uint64_t seed, const char *dir, struct err *e);
#endif
