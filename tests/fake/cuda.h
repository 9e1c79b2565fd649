/* What the parts of the fake CUDA driver share: one device at a time, whose work is done when it is handed over, on a
 * clock of its own. */
#ifndef FAKE_CUDA_H
#define FAKE_CUDA_H
#include "cuda_api.h"
#include "kernel.h"
#include "world.h"
#include <stdbool.h>

#define DECLARE(name, args) CUresult name args;
CUDA_FUNCTIONS(DECLARE)
CUDA_OPTIONAL(DECLARE)

enum {
	FAKE_ERROR_NOT_INITIALIZED = 3, FAKE_ERROR_NO_DEVICE = 100, FAKE_ERROR_INVALID_DEVICE = 101,
	FAKE_ERROR_INVALID_IMAGE = 200, FAKE_ERROR_INVALID_CONTEXT = 201, FAKE_ERROR_NO_BINARY = 209,
	FAKE_ERROR_INVALID_HANDLE = 400, FAKE_ERROR_OUT_OF_RESOURCES = 701, FAKE_ERROR_CAPTURE_UNSUPPORTED = 900,
	FAKE_ERROR_CAPTURE_INVALIDATED = 901,
};

struct fake_device {
	bool initialized, context;
	double now, seen;		/* nanoseconds: its own time, and what of it can be seen from outside */
	CUresult fault;			/* sticky: the context is lost */
	bool hangs;
	unsigned long long rng;
};
extern struct fake_device fake_device;

/* 0, or what this call is to fail with: what FAKE_FAIL says, a lost context, none at all. */
CUresult fake_enter(const char *function, bool needs_context);
#define ENTER() do { CUresult rc_ = fake_enter(__func__, false); if (rc_) return rc_; } while (0)
#define ENTER_CONTEXT() do { CUresult rc_ = fake_enter(__func__, true); if (rc_) return rc_; } while (0)

struct CUmod_st {
	void *handle;
	bool kernels;			/* an image with fake_kernels, not an oracle */
	double bias;			/* of its kernels' times, by where it happens to lie */
	struct CUfunc_st *functions;
};

struct CUfunc_st {
	struct CUmod_st *module;	/* NULL: unloaded */
	void *entry;
	const unsigned *sizes;		/* of the parameters, 0 behind the last; NULL: an oracle's */
	int shared_max;			/* dynamic, as allowed so far */
	struct CUfunc_st *next;
};

/* One piece of work. */
struct fake_op {
	enum { FAKE_KERNEL, FAKE_FILL, FAKE_COPY, FAKE_EVENT } kind;
	struct CUfunc_st *func;
	CUlaunchConfig config;
	unsigned char *blob;		/* values of the parameters, each on 16 bytes */
	CUdeviceptr to, from;
	size_t n;
	unsigned char value;
	struct CUevent_st *event;
};

/* Does the work, or nothing when nothing works any more. */
void fake_do(const struct fake_op *op);
/* Takes the work over: does it, or while the stream captures keeps it for the graph. */
CUresult fake_submit(CUstream s, const struct fake_op *op);
/* A kernel's launch. */
void fake_run(const struct fake_op *op);
/* Whether all of it lies in one allocation. */
bool fake_inside(CUdeviceptr p, size_t n);
#endif
