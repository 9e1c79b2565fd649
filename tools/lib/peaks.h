/* What a device can do at most, per second: bytes through its memory, operations of each of its units. Floors that no
 * kernel can beat come from these.
 *
 * A figure is measured by kernels of ours (calibrate.h), once per device, driver and version of the kernels, and kept
 * in the store under kind "device". What cannot be measured there is the vendor's: operations per clock of the
 * architecture at the highest clock, and the memory's clock times its width. */
#ifndef PEAKS_H
#define PEAKS_H
#include "buf.h"
#include "die.h"
#include "hash.h"
#include <stdbool.h>

struct gpu;
struct gpu_info;
struct nvml;

/* PEAK_BANDWIDTH is the highest of the three after it. */
enum peak_id {
	PEAK_BANDWIDTH, PEAK_READ, PEAK_WRITE, PEAK_COPY,
	PEAK_BF16, PEAK_FP16, PEAK_TF32, PEAK_FP8, PEAK_INT8, PEAK_FP32, PEAK_FP64, PEAKS
};

struct peak {
	double measured, vendor;	/* per second; NaN: not known */
	double spread;			/* median over the fastest of the runs, less 1 */
	char kernel[16];		/* the fastest one, and its launch */
	unsigned blocks, threads;
};

struct peaks {
	struct peak figure[PEAKS];
	char date[24];			/* of the measurement, in UTC; empty: none */
	char failed[256];		/* the measurement failed, and why; empty: it did not */
	char unsteady[256];		/* why the figures are good for now only; empty: they are kept */
};

/* Nothing measured, the vendor's figures where they are known. */
void peaks_vendor(struct peaks *p, const struct gpu_info *info);
/* The same, and what was measured before. False when that has yet to be done: nothing is kept, or it is damaged. */
bool peaks_load(struct peaks *p, const struct gpu_info *info);
/* Keeps the measured figures, or that measuring failed. A cache: where the store cannot be written nothing is kept. */
void peaks_keep(const struct peaks *p, const struct gpu_info *info);
/* Measures, on a started device whose lock is held, in about a second, and keeps the figures unless the device was
 * disturbed. Returns as calibrate() does; unless that is 0 the vendor's figures stay. When nothing else can run in this
 * process, that is kept too, so that the next one does without. */
int peaks_measure(struct peaks *p, const struct gpu_info *info, struct gpu *g, struct nvml *n, struct err *e);

/* The figure that counts: as measured, else the vendor's, else NaN. */
double peaks_rate(const struct peaks *p, enum peak_id id);
/* Least nanoseconds for moving `bytes` and doing `flops` in the given unit ("bf16", "fp16", "tf32", "fp8", "int8",
 * "fp32", "fp64"), whichever takes longer. What is not known does not count; NaN when nothing is. */
double peaks_floor_ns(const struct peaks *p, double bytes, double flops, const char *unit);

/* The object that records have: each figure with its source, "measured" or "vendor"; null where there is neither. */
void peaks_emit(struct buf *out, const struct peaks *p);
/* The object that is kept, and printed by --calibrate: also the device, the date, and how each figure came about. */
void peaks_emit_all(struct buf *out, const struct peaks *p, const struct gpu_info *info);
/* Takes the measured figures from such an object. -1 when it is damaged or another device's; p is then as it was. */
int peaks_parse(struct peaks *p, const struct gpu_info *info, const char *text, size_t n, struct err *e);
#endif
