/* A plan performed once more, in a process of its own, for programs that look over its shoulder: ncu, which counts, and
 * compute-sanitizer, which watches memory. Nothing is checked or timed there. Every buffer is an allocation of its own,
 * of exactly its size, so that an access beside it can be noticed.
 *
 * That process must not wait for the GPU's lock, since it is the lock's holder who waits for it. So the holder keeps
 * the job in its own memory, and the process is told where: /proc/PID/fd/N. It goes on only when PID is the process
 * that holds the lock of that very GPU. Nobody else can have it do anything: who has no lock is refused. */
#ifndef ENCORE_H
#define ENCORE_H
#include "buf.h"
#include "die.h"
#include <stdint.h>

struct encore_job {
	const char *task, *workload;
	const char *uuid;		/* of the GPU, whose lock this process holds */
	const struct buf *bundle;	/* its text */
	const int *chosen;		/* variant for each of the plan's steps; NULL: the first */
	int steps;
	uint64_t seed;			/* of the inputs */
};

/* A command line, to be put behind that of ncu or compute-sanitizer: argv ends with NULL. */
struct encore {
	int fd;
	char *program, *path;
	char *argv[4];
};

/* The option that makes d2k-time do it. */
#define ENCORE_OPTION "--encore"

/* 0 or -1; releasable either way. The command line is good until it is released. */
int encore_open(struct encore *x, const struct encore_job *j, struct err *e);
void encore_release(struct encore *x);

/* The other side: performs the job at the path. The exit status: 0, or 1 with the reason on stderr. */
int encore_perform(const char *path);
#endif
