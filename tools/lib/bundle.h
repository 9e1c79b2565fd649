/* A bundle: the compiled kernels of one submission and, per workload, the plan that d2k-build recorded.
 *
 * Its text is hostile: it was made by running the submission. Everything used later is checked here, so that a struct
 * bundle that parsed has no index, offset, size or count out of range. A plan's buffers named like tensors are the
 * task's; the rest is scratch. bundle_fits() checks a plan against a task. */
#ifndef BUNDLE_H
#define BUNDLE_H
#include "die.h"
#include "gpu.h"
#include "hash.h"
#include "task.h"
#include <stdbool.h>

enum { BUNDLE_PARAMS = 256 };

enum arg_kind { ARG_POINTER, ARG_SCALAR, ARG_TENSORMAP };

struct arg {
	enum arg_kind kind;
	int buffer;			/* pointer, tensormap; -1: a null pointer */
	uint64_t offset;
	unsigned char value[8];		/* scalar, little-endian as the kernel reads it */
	size_t size;			/* bytes of the parameter: 8, the scalar's, or 128 */
	struct gpu_tensormap map;
};

/* One way of launching a step; @triton.autotune gives a step several. */
struct variant {
	int kernel;
	unsigned grid[3];		/* in Triton programs; a cluster multiplies x */
	struct arg *args;
	int nargs;
	char *config;			/* NULL: none */
};

struct step {
	struct variant *variants;	/* NULL: a fill */
	int nvariants;
	int buffer;			/* fill */
	uint64_t offset, bytes;
	unsigned char value;
};

struct plan_buffer {
	char *name;
	size_t bytes;
	bool scratch;
	int tensor;			/* number in the task, -1: scratch; set by bundle_fits */
};

struct plan {
	char *workload;
	struct plan_buffer *buffers;
	int nbuffers;
	long long scratch;	/* bytes of all scratch */
	struct step *steps;
	int nsteps, launches;
};

struct kernel {
	char *name;
	char hash[HASH_HEX];
	unsigned char *cubin;
	size_t cubin_bytes;
	unsigned shared, warps, ctas;
	int registers, spills, stack;	/* as the build claims, which nothing relies on; bytes; -1: it does not say */
	bool cooperative, pdl;
	size_t global_scratch, global_scratch_align;	/* bytes per CTA */
};

struct bundle {
	char hash[HASH_HEX];		/* of the text */
	char *task, *target, *source;
	char source_sha256[HASH_HEX], task_hash[HASH_HEX], workloads_hash[HASH_HEX];
	struct kernel *kernels;
	int nkernels;
	struct plan *plans;
	int nplans;
};

/* Reads the text; source_sha256 is checked against the source. Releasable after a failure too. */
int bundle_parse(struct bundle *b, const char *text, size_t n, struct err *e);
void bundle_release(struct bundle *b);
struct plan *bundle_plan(const struct bundle *b, const char *workload);
/* Whether the plan's buffers are the task's tensors, all of them, with their roles and sizes; sets what it says
 * above. */
int bundle_fits(struct plan *p, const struct task *t, const size_t *bytes, struct err *e);
/* Whether a kernel keeps memory from one launch to the next: as cubin_remembers(), with the kernel's name. */
int bundle_remembers(const struct bundle *b, struct err *e);
/* Whether there is a plan for this workload, and it fits. */
int bundle_serves(const struct bundle *b, const struct task *t, const struct workload *w, struct err *e);
#endif
