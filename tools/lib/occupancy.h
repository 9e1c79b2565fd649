/* How many blocks of a kernel a multiprocessor holds at a time, and what keeps it from holding more. Arithmetic only:
 * registers are given to warps in units of 256 from one of four register files, shared memory to blocks in units of
 * 128 bytes, of which the driver keeps some itself. */
#ifndef OCCUPANCY_H
#define OCCUPANCY_H
#include "buf.h"

/* What one multiprocessor has, and how many there are. */
struct occupancy_device {
	int multiprocessors;
	int registers, warps, blocks;		/* of one */
	int shared, reserved;			/* bytes of one; those of each block that the driver keeps */
};

/* The figures of an architecture ("sm_90"), with the largest number of multiprocessors it is sold with. 0, or -1 when
 * they are not known. */
int occupancy_target(const char *arch, struct occupancy_device *d);

/* What one block takes. */
struct occupancy_use {
	int registers;		/* per thread */
	int shared;		/* bytes, static and dynamic together */
	int threads;
	int cluster;		/* blocks per cluster; 0 or 1: none */
};

/* What the driver says of the kernel, where it was asked; else 0. */
struct occupancy_held {
	int blocks;		/* per multiprocessor */
	int clusters;		/* on the whole device */
};

enum occupancy_limiter { LIMITED_BY_REGISTERS, LIMITED_BY_SHARED, LIMITED_BY_WARPS, LIMITED_BY_BLOCKS, LIMITERS };
/* "registers", "shared", "warps", "blocks" */
extern const char *const occupancy_limiter_name[LIMITERS];

struct occupancy {
	int allowed[LIMITERS];	/* blocks a multiprocessor could hold if only this counted */
	int blocks;		/* it holds: the least of them, or what the driver says */
	int warps, share_of;	/* of the blocks it holds; of how many */
	enum occupancy_limiter limiter;	/* what allows the fewest: of several, first what no kernel can change */
	double waves;		/* blocks of the grid over those that the device holds at a time; NaN: none fits */
	double tail;		/* how full the last wave is, above 0 to 1 */
};

/* For a grid of so many blocks. What is held, where it is known, counts more than the arithmetic, which can only tell
 * why it is so; it may be NULL. */
struct occupancy occupancy_of(const struct occupancy_device *d, const struct occupancy_use *u,
			      const struct occupancy_held *held, double grid);
void occupancy_emit(struct buf *out, const struct occupancy *o);
#endif
