/* Jobs in child processes of our own, forked without exec: each writes what it has to say to a pipe, and may be killed
 * without harm to the others. Several run at a time. What they print goes nowhere. */
#ifndef WORKER_H
#define WORKER_H
#include "buf.h"
#include "child.h"
#include "die.h"
#include <stdbool.h>

struct worker_result {
	enum child_end end;
	int code;
	double seconds;
	struct buf out;		/* what it wrote, whole even when it was killed */
};

struct workers {
	int n, width;		/* jobs, and how many at a time */
	double timeout;		/* seconds for one job */
	char start_mark;	/* not 0: the time starts with the line that begins with this letter */
	int (*job)(int i, int fd, void *ctx);	/* in the child; returns its exit code */
	void (*line)(int i, const char *line, void *ctx);	/* in the parent, for each whole line; may be NULL */
	void *ctx;
};

/* 0, or -1 when a process cannot be started or the program was interrupted (child_interrupted). r has n entries. */
int workers_run(const struct workers *w, struct worker_result *r, struct err *e);
void worker_result_release(struct worker_result *r);
#endif
