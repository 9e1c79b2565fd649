/* Measuring a device's peaks with kernels of ours, tools/calibrate/peaks.cu: each of them drives one limit in several
 * shapes of launch, and the fastest run counts, because what is sought is what nothing can beat. */
#ifndef CALIBRATE_H
#define CALIBRATE_H
#include "peaks.h"

/* Appends the kernels' source. */
int calibrate_source(struct buf *out, struct err *e);
/* The architecture to compile them for: "sm_90a" on Hopper, whose warpgroup instructions plain "sm_90" lacks. */
void calibrate_arch(const struct gpu *g, char out[16]);
/* Sets what can be measured there, and why it is not to be kept if it was disturbed. The device is started and its lock
 * held. 0; 1: nothing was measured (no NVRTC, too little memory); -1: a kernel failed or hangs, and nothing else can run
 * in this process. */
int calibrate(struct peaks *p, struct gpu *g, struct nvml *n, struct err *e);
/* All of it by hand: claims a GPU (claim.h), measures, and appends the object of peaks_emit_all() as a line. 0, and e says
 * why when the figures are not kept; 1: there is no such GPU; -1: nothing was measured. */
int calibrate_device(int device, struct buf *out, struct err *e);
#endif
