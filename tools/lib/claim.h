/* A GPU of one's own: the one asked for, or the first that is free, with its lock (gpulock.h) held until the process
 * ends. No context is made on any device while waiting. */
#ifndef CLAIM_H
#define CLAIM_H
#include "gpu.h"
#include "nvml.h"

enum { CLAIM_ANY = -1 };

struct claim {
	struct gpu *gpu;	/* opened, not started */
	struct gpu_info info;	/* with the driver's version from NVML where the system does not tell */
	struct nvml *nvml;	/* opened, as it must be before there is a context; NULL: nothing is known */
	int ordinal;
	double waited;		/* seconds until it was free */
};

/* 0, or -1 when there is no such device, or none that works. `waits` is called when none is free, with what is waited
 * for: "GPU 0, held by process 1234". */
int claim_gpu(struct claim *c, int ordinal, void (*waits)(const char *what, void *ctx), void *ctx, struct err *e);
#endif
