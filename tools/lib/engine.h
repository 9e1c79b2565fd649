/* Where oracle code runs and its data lie: the host (a shared object made by cc) or a GPU (a cubin made by NVRTC). Both
 * are made from the same source and kept in the store under kind "oracle". Addresses are integers, good only for the
 * engine that gave them. Work is asynchronous on a GPU and in order; engine_read waits for it. */
#ifndef ENGINE_H
#define ENGINE_H
#include "buf.h"
#include "die.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct engine;
struct gpu;

/* NULL on error. The source is complete (oracle_source). */
struct engine *engine_host(const struct buf *source, struct err *e);
struct engine *engine_gpu(struct gpu *g, const struct buf *source, struct err *e);
void engine_close(struct engine *x);
bool engine_on_gpu(const struct engine *x);

int engine_alloc(struct engine *x, size_t n, uint64_t *p, struct err *e);
void engine_free(struct engine *x, uint64_t p);
/* Runs a kernel of the source over n indices. args is its argument struct, eight bytes a field. */
int engine_run(struct engine *x, const char *kernel, const void *args, long long n, struct err *e);
/* The same with a grid of blocks for kernels that need one on the GPU (256 threads each); the host ignores it. */
int engine_run_grid(struct engine *x, const char *kernel, const void *args, const unsigned grid[3], struct err *e);
/* Overwrites what kernels left in the multiprocessors' shared memory. */
int engine_scrub(struct engine *x, uint64_t seed, struct err *e);
int engine_read(struct engine *x, void *to, uint64_t from, size_t n, struct err *e);
int engine_fill(struct engine *x, uint64_t p, uint8_t value, size_t n, struct err *e);
int engine_write(struct engine *x, uint64_t to, const void *from, size_t n, struct err *e);

/* Compiles for an architecture without a GPU: 0 and the cubin, from the store when it is there. */
int engine_cubin(const struct buf *source, const char *arch, struct buf *cubin, struct err *e);
#endif
