/* Runs of the kernels, between events. */
#include "calibrate.h"
#include "clock.h"
#include "engine.h"
#include "file.h"
#include "gpu.h"
#include "nvml.h"
#include "stats.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RUNS = 12, FULL = 2048 /* threads of a multiprocessor */, COARSE = 8192 /* vectors: whole tiles of every shape */ };
#define FOOTPRINT (8ull << 30)	/* bytes to go over at most; a quarter of what is free where that is less */
#define RUN_NS 1.5e6		/* aim for a run of arithmetic */
#define WARM_SECONDS 0.1		/* for the clock to leave idling, and ... */
#define SETTLE_SECONDS 0.5	/* ... at most to settle */
#define SEARCH_SECONDS 10	/* after which each figure gets its first shape only: long, lest a busy host cost some */
#define HANG_SECONDS 5.0	/* nothing here takes that long */
#define STEADY 0.15		/* of spread; the power limit alone makes some per cent */

struct kernel {
	const char *name;
	unsigned loads;		/* vectors of memory a thread has in a tile; 0: arithmetic */
	unsigned parts;		/* of the memory, worked on side by side: a copy has two */
};

/* What a figure is measured with: the fastest kernel of those that the architecture has. */
static const struct {
	enum peak_id id;
	struct kernel kernel[3];
} ways[] = {
	{ PEAK_READ, { { "read_4", 4, 1 }, { "read_2", 2, 1 }, { "read_8", 8, 1 } } },
	{ PEAK_WRITE, { { "write_4", 4, 1 }, { "write_2", 2, 1 }, { "write_8", 8, 1 } } },
	{ PEAK_COPY, { { "copy_4", 4, 2 }, { "copy_2", 2, 2 }, { "copy_8", 8, 2 } } },
	{ PEAK_BF16, { { .name = "wgmma_bf16" }, { .name = "mma_bf16" } } },
	{ PEAK_FP16, { { .name = "wgmma_fp16" }, { .name = "mma_fp16" } } },
	{ PEAK_TF32, { { .name = "wgmma_tf32" }, { .name = "mma_tf32" } } },
	{ PEAK_FP8, { { .name = "wgmma_fp8" }, { .name = "mma_fp8" } } },
	{ PEAK_INT8, { { .name = "wgmma_int8" }, { .name = "mma_int8" } } },
	{ PEAK_FP32, { { .name = "fma_fp32" }, { .name = "fma2_fp32" } } },
	{ PEAK_FP64, { { .name = "fma_fp64" }, { .name = "mma_fp64" } } },
};

struct bench {
	struct peaks *peaks;
	struct gpu *gpu;
	struct nvml *nvml;
	void *module;
	uint64_t memory, done;
	unsigned long long vectors;	/* of 16 bytes at `memory` */
	void *event[RUNS + 1];
	double search_until;
	bool hangs;
};

/* A launch; the amount of work is the kernel's own unit. */
struct shape {
	const struct kernel *kernel;
	void *func;
	unsigned blocks, threads;
	unsigned long long n;
};

int calibrate_source(struct buf *out, struct err *e)
{
	char *path = file_in_root("tools/calibrate/peaks.cu");
	int rc = file_read(path, out, e);

	free(path);
	return rc;
}

void calibrate_arch(const struct gpu *g, char out[16])
{
	gpu_arch(g, out);
	if (!strcmp(out, "sm_90"))
		strcat(out, "a");
}

/* ---- runs */

static int launch(struct bench *b, const struct shape *s, struct err *e)
{
	unsigned long long n = s->n, nowhere = 0;
	void *params[] = { &b->memory, &n, &b->done, &nowhere };
	struct gpu_launch l = { .func = s->func, .grid = { s->blocks, 1, 1 }, .block = s->threads, .params = params };

	return gpu_launch(b->gpu, &l, e);
}

/* While something runs: whether anything holds the device back. The power limit is no disturbance, nor is the lower
 * clock that it leaves behind for a while. */
static void watch(struct bench *b)
{
	struct peaks *p = b->peaks;
	struct nvml_reading r;

	nvml_clocks(b->nvml, &r);
	if (!p->unsteady[0] && r.reasons & nvml_throttle_mask)
		snprintf(p->unsteady, sizeof(p->unsteady), "the device was throttled");
	else if (!p->unsteady[0] && r.reasons & NVML_APPLICATIONS_CLOCKS)
		snprintf(p->unsteady, sizeof(p->unsteady), "someone has set the clock to %d MHz", r.sm_mhz);
}

/* The launch so many times in a row; the nanoseconds of each. */
static int run(struct bench *b, const struct shape *s, int runs, bool watched, double *ns, struct err *e)
{
	int rc = gpu_event_record(b->gpu, b->event[0], e);

	for (int i = 0; i < runs && !rc; i++)
		rc = launch(b, s, e) || gpu_event_record(b->gpu, b->event[i + 1], e) ? -1 : 0;
	if (!rc && watched)
		watch(b);
	if (!rc)
		rc = gpu_wait(b->gpu, HANG_SECONDS, e);
	b->hangs = rc > 0;
	if (b->hangs)
		rc = err_set(e, "%s had not ended after %g s", s->kernel->name, HANG_SECONDS);
	for (int i = 0; i < runs && !rc; i++) {
		rc = gpu_event_ns(b->gpu, b->event[i], b->event[i + 1], &ns[i], e);
		if (!rc && !(ns[i] > 0))
			rc = err_set(e, "%s took no time", s->kernel->name);
	}
	return rc;
}

/* What the last launch did, bytes or operations, as it says itself. */
static int amount(struct bench *b, double *done, struct err *e)
{
	if (gpu_read(b->gpu, done, b->done, sizeof(*done), e))
		return -1;
	return *done > 0 ? 0 : err_set(e, "a kernel did nothing");
}

/* ---- shapes */

/* Work for about RUN_NS; memory is gone over once. */
static int choose_amount(struct bench *b, struct shape *s, struct err *e)
{
	double ns[2];

	for (int i = 0; i < 6 && !s->kernel->loads; i++) {
		if (run(b, s, 2, false, ns, e))
			return -1;
		if (ns[1] > RUN_NS / 2)
			break;
		s->n = (unsigned long long)ceil((double)s->n * fmin(RUN_NS / ns[1], 64));
	}
	return 0;
}

/* The shapes of one kernel: how many there are, and number i. */
enum { SHAPES_MEMORY = 6, SHAPES_ARITHMETIC = 3 };
static void set_shape(const struct bench *b, struct shape *s, int i)
{
	unsigned sms = (unsigned)gpu_info(b->gpu)->sm_count;

	s->threads = 256;
	s->blocks = sms << i;			/* 1, 2, 4 on each multiprocessor */
	s->n = 8;
	if (!s->kernel->loads)
		return;
	s->n = b->vectors / s->kernel->parts;
	s->threads = i < SHAPES_MEMORY / 2 ? 512 : 256;
	switch (i % (SHAPES_MEMORY / 2)) {
	case 0:					/* a block for each tile */
		s->blocks = (unsigned)(s->n / (s->threads * s->kernel->loads));
		break;
	case 1:					/* as many as are there at once */
		s->blocks = sms * (FULL / s->threads);
		break;
	default:
		s->blocks = 4 * sms * (FULL / s->threads);
	}
}

/* The fastest shape of all kernels for one figure; func NULL: none of them is there. */
static int search(struct bench *b, const struct kernel *kernels, struct shape *best, struct err *e)
{
	double most = 0, ns[2], done;
	struct err ignored;

	*best = (struct shape){ 0 };
	for (int k = 0; k < 3 && kernels[k].name; k++) {
		struct shape s = { .kernel = &kernels[k] };

		s.func = gpu_function(b->gpu, b->module, s.kernel->name, &ignored);
		for (int i = 0; s.func && i < (s.kernel->loads ? SHAPES_MEMORY : SHAPES_ARITHMETIC); i++) {
			if (best->func && clock_now() > b->search_until)
				return 0;
			set_shape(b, &s, i);
			if (choose_amount(b, &s, e) || run(b, &s, 2, false, ns, e) || amount(b, &done, e))
				return -1;
			if (done / fmin(ns[0], ns[1]) > most) {
				most = done / fmin(ns[0], ns[1]);
				*best = s;
			}
		}
	}
	return 0;
}

/* ---- figures */

static int measure(struct bench *b, enum peak_id id, const struct kernel *kernels, struct err *e)
{
	struct peak *f = &b->peaks->figure[id];
	double ns[RUNS], done, fastest;
	struct shape s;

	if (search(b, kernels, &s, e))
		return -1;
	if (!s.func)
		return 0;
	if (run(b, &s, RUNS, true, ns, e) || amount(b, &done, e))
		return -1;
	fastest = stats_quantile(ns, RUNS, 0);
	f->measured = done / fastest * 1e9;
	f->spread = stats_median(ns, RUNS) / fastest - 1;
	snprintf(f->kernel, sizeof(f->kernel), "%s", s.kernel->name);
	f->blocks = s.blocks;
	f->threads = s.threads;
	if (f->spread > STEADY && !b->peaks->unsteady[0])
		snprintf(b->peaks->unsteady, sizeof(b->peaks->unsteady), "%s: the median run was %.1f %% slower than the "
			 "fastest", f->kernel, 100 * f->spread);
	return 0;
}

/* Until three runs in a row are within 0.5 % of each other: a clock that has not begun to rise is steady too, hence not at
 * once. */
static int warm(struct bench *b, struct err *e)
{
	static const struct kernel kernel = { .name = "fma_fp32" };
	struct shape s = { .kernel = &kernel, .func = gpu_function(b->gpu, b->module, kernel.name, e) };
	double start = clock_now(), ns[3], slack;

	if (!s.func)
		return -1;
	set_shape(b, &s, 1);
	if (choose_amount(b, &s, e))
		return -1;
	do {
		if (run(b, &s, 3, false, ns, e))
			return -1;
		slack = stats_quantile(ns, 3, 1) / stats_quantile(ns, 3, 0) - 1;
	} while (clock_now() < start + WARM_SECONDS || (slack > 0.005 && clock_now() < start + SETTLE_SECONDS));
	return 0;
}

static int measure_all(struct bench *b, struct err *e)
{
	struct peak *f = b->peaks->figure;
	double stated = f[PEAK_BANDWIDTH].vendor;
	int best = PEAK_READ;

	if (warm(b, e))
		return -1;
	b->search_until = clock_now() + SEARCH_SECONDS;
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		if (measure(b, ways[i].id, ways[i].kernel, e))
			return -1;
	for (int i = PEAK_WRITE; i <= PEAK_COPY; i++)
		if (f[i].measured > f[best].measured)
			best = i;
	f[PEAK_BANDWIDTH] = f[best];
	f[PEAK_BANDWIDTH].vendor = stated;
	if (nvml_sharing(b->nvml) > 0)
		snprintf(b->peaks->unsteady, sizeof(b->peaks->unsteady), "another process uses the device");
	return 0;
}

/* ---- what is needed */

static int load_kernels(struct bench *b, struct err *e)
{
	struct buf source = BUF_INIT, cubin = BUF_INIT;
	char arch[16];

	calibrate_arch(b->gpu, arch);
	if (!calibrate_source(&source, e) && !engine_cubin(&source, arch, &cubin, e))
		b->module = gpu_module(b->gpu, cubin.data, e);
	buf_release(&source);
	buf_release(&cubin);
	return b->module ? 0 : -1;
}

static int allocate(struct bench *b, struct err *e)
{
	double least = 16.0 * (double)gpu_info(b->gpu)->l2_bytes;
	size_t available;

	if (gpu_memory_free(b->gpu, &available, e))
		return -1;
	b->vectors = (available / 4 < FOOTPRINT ? available / 4 : FOOTPRINT) / 16 / COARSE * COARSE;
	if (!b->vectors || 16.0 * (double)b->vectors < least)
		return err_set(e, "too little memory is free to measure past the L2 cache");
	for (int i = 0; i <= RUNS; i++)
		if (!(b->event[i] = gpu_event(b->gpu, e)))
			return -1;
	return gpu_alloc(b->gpu, sizeof(double), &b->done, e) || gpu_alloc(b->gpu, 16 * b->vectors, &b->memory, e) ||
	       gpu_fill(b->gpu, b->memory, 0, 16 * b->vectors, e) ? -1 : 0;
}

static void release(struct bench *b)
{
	for (int i = 0; i <= RUNS; i++)
		gpu_event_free(b->gpu, b->event[i]);
	gpu_free(b->gpu, b->memory);
	gpu_free(b->gpu, b->done);
	gpu_module_free(b->gpu, b->module);
}

int calibrate(struct peaks *p, struct gpu *g, struct nvml *n, struct err *e)
{
	struct bench b = { .peaks = p, .gpu = g, .nvml = n };
	int rc = load_kernels(&b, e) || allocate(&b, e) || measure_all(&b, e) ? 1 : 0;

	if (b.hangs || gpu_fault(g))
		return -1;	/* the driver cleans up when the process ends */
	release(&b);
	return rc;
}
