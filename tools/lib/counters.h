/* What the hardware counted while kernels ran, by way of ncu, where it is installed and permitted.
 *
 * ncu runs a program of ours under it, replays each of its kernels as often as the counters need, with the caches
 * flushed before each pass, and prints a table: one line of names, one of units, one for each launch. A counter that is
 * missing there is NaN here. The table is taken for hostile, as is everything near a kernel. */
#ifndef COUNTERS_H
#define COUNTERS_H
#include "buf.h"
#include "die.h"

enum counter {
	COUNTER_NS,		/* under ncu, caches cold */
	COUNTER_DRAM_READ, COUNTER_DRAM_WRITE,	/* bytes */
	COUNTER_DRAM_SHARE,	/* of the device's bandwidth; all shares are of 1 */
	COUNTER_L2_HIT,
	COUNTER_SM_SHARE,	/* busiest pipe or issue slots */
	COUNTER_TENSOR_SHARE,	/* cycles in which a tensor pipe was active */
	COUNTER_OCCUPANCY,	/* achieved: active warps of those possible */
	COUNTERS
};
/* "ns", "dram_read_bytes", ... */
extern const char *const counter_name[COUNTERS];

enum { COUNTERS_STALLS = 3, COUNTERS_LAUNCHES = 64 };

struct counters {
	char kernel[128];
	double value[COUNTERS];
	struct {
		char why[48];		/* "long_scoreboard"; empty: fewer were told */
		double share;		/* of the time of an average warp */
	} stall[COUNTERS_STALLS];	/* the largest first */
};

/* Reads ncu's table. Returns how many launches it has, at most COUNTERS_LAUNCHES, or -1 with ncu's own first complaint
 * when there is no table. */
int counters_parse(const char *text, size_t n, struct counters *c, struct err *e);
/* Runs a program (its NULL-terminated arguments) under ncu, for at most so many seconds. Only launches between
 * gpu_profile(g, true) and gpu_profile(g, false) are counted. As counters_parse(). */
int counters_take(char *const *program, double seconds, struct counters *c, struct err *e);
void counters_emit(struct buf *out, const struct counters *c);
#endif
