/* One workload on the CPU: the submission runs under Triton's interpreter in a sandbox, on inputs made here, in
 * memory shared with it; outputs are judged here. Python never sees a reference. No times: they would mean nothing. */
#ifndef CPURUN_H
#define CPURUN_H
#include "job.h"

/* Runs workload number i of the job on all its seeds and tells its result (progress.h) on fd. */
int cpurun(const struct job *job, const char *source, int i, int fd);
/* Compiles the task's oracle once, before workers run side by side. */
int cpurun_prepare(const struct task *t, struct err *e);
#endif
