/* One GPU through the CUDA driver: the one door to libcuda.so.1, loaded when first needed.
 *
 * gpu_open() makes no context, so a process may open a device, wait for its lock, and only then gpu_start(). A
 * context does not survive fork: a parent that forks workers never calls any of this. All work goes to one stream, in
 * order; what returns data waits for it. Functions return 0, or -1 with the driver's words in e; whose doing the last
 * failure was is then told by gpu_fault() and those beside it. Device memory and modules go away with the process. */
#ifndef GPU_H
#define GPU_H
#include "die.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gpu_info {
	char name[256];
	char uuid[48];		/* "GPU-8a2c..." */
	char driver[64];	/* "580.95.05", empty where the system does not tell */
	int cuda;		/* 13000 */
	int cc;			/* compute capability, 90 for 9.0 */
	int sm_count;
	long long l2_bytes, memory_bytes;
	int shared_max;		/* bytes one block may opt in to */
	int clock_khz, memory_khz, bus_bits;	/* highest clocks, width of the memory; 0 where the driver does not tell */
};

struct gpu;

/* How many devices there are; -1 when the driver is missing. */
int gpu_count(struct err *e);
/* NULL when the driver or the device is missing. */
struct gpu *gpu_open(int ordinal, struct gpu_info *info, struct err *e);
/* Forgets a device that was not started. */
void gpu_close(struct gpu *g);
/* Makes the context; nothing when there is one. */
int gpu_start(struct gpu *g, struct err *e);
/* "sm_90" */
void gpu_arch(const struct gpu *g, char out[16]);
const struct gpu_info *gpu_info(const struct gpu *g);
/* Whether the last failure is one a kernel causes (illegal address, failed launch, ...); sticky: the context is lost. */
bool gpu_fault(const struct gpu *g);
/* Whether, when it came of loading or running code, it is that code's doing: a fault, or it was refused, by the driver or
 * before any was asked. All else (device lost, memory used up or broken, what is not known) is not. */
bool gpu_blames_code(const struct gpu *g);
bool gpu_out_of_memory(const struct gpu *g);
/* Forgets the last failure, so that the next is judged by itself. */
void gpu_forget(struct gpu *g);

int gpu_alloc(struct gpu *g, size_t n, uint64_t *p, struct err *e);
void gpu_free(struct gpu *g, uint64_t p);
int gpu_memory_free(struct gpu *g, size_t *n, struct err *e);
int gpu_fill(struct gpu *g, uint64_t p, uint8_t value, size_t n, struct err *e);
int gpu_read(struct gpu *g, void *to, uint64_t from, size_t n, struct err *e);
int gpu_write(struct gpu *g, uint64_t to, const void *from, size_t n, struct err *e);
int gpu_copy(struct gpu *g, uint64_t to, uint64_t from, size_t n, struct err *e);
int gpu_sync(struct gpu *g, struct err *e);
/* 0 nothing is running, 1 something is, -1 error. */
int gpu_busy(struct gpu *g, struct err *e);
/* Waits at most `seconds`: 0 done, 1 still running, -1 error. */
int gpu_wait(struct gpu *g, double seconds, struct err *e);

void *gpu_module(struct gpu *g, const void *cubin, struct err *e);
void gpu_module_free(struct gpu *g, void *module);
void *gpu_function(struct gpu *g, void *module, const char *name, struct err *e);
/* Number and sizes of a function's parameters; 0, 1 when the driver is too old to tell, -1 on error. */
int gpu_function_params(struct gpu *g, void *func, size_t *sizes, int max, int *n, struct err *e);
/* Allows dynamic shared memory over 48 KiB, and clusters over 8 blocks. */
int gpu_function_allow(struct gpu *g, void *func, unsigned shared, unsigned cluster, struct err *e);

struct gpu_launch {
	void *func;
	unsigned grid[3], block, shared;	/* grid in blocks, clusters included; block: threads */
	unsigned cluster;	/* blocks per cluster along x; 0 or 1: none */
	bool cooperative, pdl;
	void **params;
};
int gpu_launch(struct gpu *g, const struct gpu_launch *l, struct err *e);

/* What one multiprocessor has; 0: the driver does not tell. */
struct gpu_multiprocessor {
	int registers, threads, blocks;
	int shared, reserved;	/* bytes; those of each block that the driver keeps */
};
void gpu_multiprocessor(const struct gpu *g, struct gpu_multiprocessor *m);
/* What a function's code takes, and how much of a launch of it the device holds at a time; -1: the driver does not
 * tell. */
struct gpu_code {
	int registers, local;	/* per thread; bytes, for spills and what is indexed at run time */
	int shared;		/* bytes per block, besides those that a launch adds */
	int blocks;		/* held by a multiprocessor */
	int clusters;		/* by the device, where the launch has clusters */
};
void gpu_code(const struct gpu *g, const struct gpu_launch *l, struct gpu_code *c);
/* What is launched between on and off is what a profiler of the whole process, told so, looks at. */
void gpu_profile(struct gpu *g, bool on);

/* A TMA descriptor for a tensor of the given rank, innermost dimension first; 128 bytes at out (64-byte aligned). */
struct gpu_tensormap {
	int type;	/* gpu_map_type */
	int rank;
	uint64_t dims[5], strides[4];	/* strides in bytes, of dimensions 1 and up */
	uint32_t box[5], element_strides[5];
	int interleave, swizzle, l2promo, oob;
};
/* The driver's element type for a dtype name of ours, or -1. */
int gpu_map_type(const char *dtype);
int gpu_tensormap(struct gpu *g, const struct gpu_tensormap *m, uint64_t address, void *out, struct err *e);

/* Graphs: work between begin and end is recorded, not run. end also instantiates and uploads. */
int gpu_record_begin(struct gpu *g, struct err *e);
void *gpu_record_end(struct gpu *g, struct err *e);
/* After a failure between begin and end: leaves recording, keeps the failure's text. */
void gpu_record_drop(struct gpu *g);
int gpu_graph_run(struct gpu *g, void *graph, struct err *e);
void gpu_graph_free(struct gpu *g, void *graph);

void *gpu_event(struct gpu *g, struct err *e);
/* Puts the event behind what was given so far; while a graph is recorded, it becomes part of the graph. */
int gpu_event_record(struct gpu *g, void *event, struct err *e);
/* Nanoseconds between two events that have passed. */
int gpu_event_ns(struct gpu *g, void *from, void *to, double *ns, struct err *e);
void gpu_event_free(struct gpu *g, void *event);

/* No line of L2 stays privileged from before. */
int gpu_l2_reset(struct gpu *g, struct err *e);
#endif
