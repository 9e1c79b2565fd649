/* One record on a GPU, run in a process of its own that may be killed at any time. What comes of it is told in lines
 * (progress.h). */
#ifndef GPURUN_H
#define GPURUN_H
#include "job.h"

/* Runs the job and writes the lines to fd. Returns the process's exit code. */
int gpurun(const struct job *job, int fd);
#endif
