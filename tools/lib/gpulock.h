/* One d2k-time at a time on a GPU, whoever runs it: a lock on a file per device, d2k-gpu-UUID.lock in /tmp, or in
 * $D2K_LOCKS where containers that share a GPU have another folder in common. The file holds the pid of the process
 * that has the lock. A lock goes away with its process, however that ends. */
#ifndef GPULOCK_H
#define GPULOCK_H
#include "die.h"
#include <sys/types.h>

struct gpulock {
	char *path;
	int fd;
};

/* Does not take it yet. 0 or -1; closable either way. */
int gpulock_open(struct gpulock *l, const char *uuid, struct err *e);
/* Lets go of it. */
void gpulock_close(struct gpulock *l);
/* 0 taken, 1 another process has it, -1 error. */
int gpulock_try(struct gpulock *l, struct err *e);
/* Waits for one of n locks, in line with others who wait, and takes the first that is free: its number, or -1. */
int gpulock_wait(struct gpulock *l, int n, struct err *e);
/* The process that has it, in its own namespace; 0: not known. */
pid_t gpulock_holder(const struct gpulock *l);
#endif
