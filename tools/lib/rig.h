/* A GPU made ready for a record: its lock held, its peaks known, its oracle compiled, the three bundles read and
 * accepted. */
#ifndef RIG_H
#define RIG_H
#include "bundle.h"
#include "claim.h"
#include "engine.h"
#include "job.h"
#include "nvml.h"
#include "peaks.h"
#include "phases.h"
#include "rng.h"

struct rig {
	const struct job *job;
	int fd;				/* where progress is told */
	struct gpu *gpu;
	struct gpu_info info;
	struct nvml *nvml;		/* NULL: its state is not known */
	struct peaks peaks;
	struct engine *engine;
	struct bundle bundle[LEGS];
	struct err lacks[LEGS];		/* why a bundle cannot be run; empty: it can */
	struct rng rng;
	struct phases phases;
};

/* 0, or -1 when there is nothing to run or to run on, which has been told. Lasts until the process ends. */
int rig_open(struct rig *r, const struct job *job, int fd);
#endif
