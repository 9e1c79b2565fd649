/* One record on a GPU, run in a process of its own that may be killed at any time. It tells how far it is in lines on a
 * pipe, each a letter and its text:
 *
 *     W               waiting for the device's lock        L               has it: the record's time starts
 *     D {...}         the device                           B ID            a workload begins
 *     R {...}         a workload's result                  S STATUS WHY    the record as a whole fails
 *     G {...}         where time went, in seconds          A WHY           no device: try again elsewhere
 *     X               the end
 */
#ifndef GPURUN_H
#define GPURUN_H
#include "buf.h"
#include "task.h"
#include <stdint.h>

enum { SEEDS_MAX = 64 };

struct job {
	const struct task *task;
	const struct workload **workloads;	/* those to run */
	int nworkloads;
	struct buf bundle[3];		/* texts of candidate, baseline, expert; empty: absent */
	uint64_t seeds[SEEDS_MAX];	/* the last one fresh */
	int nseeds;
	int device;			/* ordinal */
	double hang;			/* seconds a single step may take */
};

/* Runs the job and writes the lines to fd. Returns the process's exit code. */
int gpurun(const struct job *job, int fd);
#endif
