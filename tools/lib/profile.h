/* Where a plan's time goes, and what its kernels are made of: what a kernel writer asks for. For each kernel, launched
 * on one grid, its share of the time, what it takes of a multiprocessor and how many fit, its instructions, and what
 * the hardware counted. What is not known is null in the record, with the reason beside it.
 *
 * Times are differences: the plan's first k steps are timed as a whole, as site_time.c times plans, for each k, and a
 * step's time is what it adds. So they sum up to the plan's, a step finds in L2 what those before it left there, and
 * the gap in front of it is its own. A step that runs beside another (programmatic launch) adds less than it takes, and
 * one that adds less than the measurement wavers may come out as 0. */
#ifndef PROFILE_H
#define PROFILE_H
#include "bundle.h"
#include "counters.h"
#include "occupancy.h"
#include "sass.h"

/* All launches of one kernel on one grid, in one call of the plan. */
struct profile_kernel {
	int kernel;			/* in the bundle */
	unsigned grid[3];		/* in blocks */
	const char *config;		/* of autotuning; NULL: none */
	int *steps, launches;
	double ns;			/* all launches together; NaN: not known */
	int registers, local, shared;	/* as gpu_code; -1: not known */
	bool fits, mixed, counted;	/* occupancy, mix, counters are known */
	struct occupancy occupancy;
	struct sass mix;
	struct counters counters;	/* of its first launch */
};

struct profile {
	const struct bundle *bundle;
	const struct plan *plan;
	struct profile_kernel *kernels;
	int nkernels, fills;
	double fills_ns, ns;		/* of one call, as timed here; NaN: not timed */
	double call_ns;			/* as the record has it */
	double bytes, flops;		/* the task's least */
	const char *flop_unit;
	double bytes_peak, flops_peak;	/* of the device, per second */
	struct err no_times, no_mix, no_counters;	/* why they are not known */
};

/* The plan's kernels, with what the build says of them. chosen: a variant for each step; NULL: the first. Bundle and
 * plan must live on. */
void profile_open(struct profile *p, const struct bundle *b, const struct plan *plan, const int *chosen);
void profile_release(struct profile *p);
/* Occupancy on a device of which no more is known than its architecture. */
void profile_fit_target(struct profile *p);
/* Disassembles the kernels, each cubin once in the life of the process, for at most so many seconds. */
void profile_disassemble(struct profile *p, double seconds);
/* Times of the plan's first 1, 2, ... steps. */
void profile_times(struct profile *p, const double *ns);
/* Counters of the plan's launches, the first n in their order. */
void profile_count(struct profile *p, const struct counters *c, int n);
/* The object that records have. */
void profile_emit(struct buf *out, const struct profile *p);

/* An array of what the compiler noted of the kernels (warnings, serialised instructions), from the log of a build that
 * went well. The log may be NULL. */
void profile_notes(struct buf *out, const char *log);

/* In words for a model, from the object in a record; a few kilobytes at most. */
struct json;
void profile_words(const struct json *profile, struct buf *out);
#endif
