/* What was measured of one workload, and what follows from it.
 *
 * Legs take turns: in a round each runs one block, which is one lap of calls, each on another set of buffers. Rounds
 * belong to placements, in which modules, graphs and buffers lie where they lie; that place is a bias which repeats
 * within a placement, so intervals are taken over placements and not over blocks. A leg's time is the median over its
 * blocks. The ratio of two legs is, in logarithms, the median over the rounds of each placement, and then the mean over
 * placements. Its interval is one over placements, but never narrower than the noise of their rounds alone would make it:
 * a few placements may agree by chance. */
#ifndef TIMING_H
#define TIMING_H
#include "buf.h"
#include "job.h"

enum {
	TIMING_BLOCKS = 6 * 512,
	TIMING_PLACEMENTS = 8,		/* at least, before an interval over them can be called narrow enough */
};

struct block {
	long long ns;			/* of the whole block */
	int sm_mhz, memory_mhz;		/* as last read while it ran; -1: not known */
};

struct timing {
	bool leg[LEGS];			/* measured */
	struct block block[TIMING_BLOCKS][LEGS];
	int placement[TIMING_BLOCKS];	/* of each round */
	int n;				/* rounds */
	int placements, calls, lead;	/* calls of a block, and those run before it to lead in */
	int examined;			/* calls of the candidate that were timed and found right */
	int dropped;			/* rounds, because the device was throttled or shared */
	uint64_t reasons, dropped_for;	/* why clocks were held back in any round kept, and in those dropped */
	bool shared;			/* another process was seen on the device */
	int temperature, power_mw;	/* the highest seen; -1: not known */
	double precision;		/* asked for: half-width of a ratio's interval */
	const char *ended_by;		/* "precision", "max_time" or "rounds" */
	double warm_seconds;		/* spent on warm-up, of all placements that had one */
	bool warm_stable;		/* each ended because times no longer changed */
	double began, seconds;		/* of the clock; and how long all of it took */
};

/* Ratios closer to 1 than this are never called different: what placements alone do is of that size. */
#define TIMING_RESOLUTION 0.002

/* An interval reaches this much further to either side: the resolution of events, 32 ns at both ends of a block of 400
 * us, which no number of placements makes better. */
#define TIMING_GRAIN 0.0002

struct ratio {
	double value, low, high;	/* 95 % interval over placements; NaN: not known */
};

/* Median ns of one call of a leg; NaN when it was not measured. */
double timing_ns(const struct timing *t, int leg);
/* Time of leg `over` as a multiple of that of leg `under`. The seed decides the bootstrap's draws. */
struct ratio timing_ratio(const struct timing *t, int over, int under, uint64_t seed);
/* Whether more than so many rounds in each placement are of no use: because placements differ by far more than the noise
 * of rounds explains (which eight can tell), or because that noise is next to nothing beside the precision asked for
 * (which two can). */
bool timing_rounds_suffice(const struct timing *t, int rounds);
/* The candidate against a leg: "faster", "slower", "same", or NULL when not known. */
const char *timing_verdict(const struct ratio *r);
/* Half the width of an interval, relative; NaN when not known. */
double timing_half_width(const struct ratio *r);
/* "timing", "samples" and "clocks" members; t NULL: not measured. */
void timing_emit(struct buf *out, const struct timing *t);
#endif
