/* Work in order: streams, graphs, events. */
#include "cuda.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define POLL_NS 50e3	/* how much of the device's time passes, at least, while one looks at it */

struct CUgraph_st {
	struct fake_op *op;
	size_t n;
	int users;		/* itself and its instances */
};

struct CUgraphExec_st {
	struct CUgraph_st *graph;
};

struct CUstream_st {
	struct CUgraph_st *capture;	/* NULL: none */
	bool spoilt;			/* something was done that a capture does not allow */
};

struct CUevent_st {
	double at;		/* negative: not yet */
};

/* ---- streams */

CUresult cuStreamCreate(CUstream *s, unsigned flags)
{
	ENTER_CONTEXT();
	(void)flags;
	*s = calloc(1, sizeof(**s));
	return *s ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* What waits for the device, or moves data to and from the host, has no place in a graph here. */
static CUresult not_captured(CUstream s)
{
	if (!s->capture)
		return CUDA_SUCCESS;
	s->spoilt = true;
	return FAKE_ERROR_CAPTURE_UNSUPPORTED;
}

CUresult cuStreamSynchronize(CUstream s)
{
	ENTER_CONTEXT();
	while (fake_device.hangs)
		pause();
	fake_device.seen = fake_device.now;
	return not_captured(s);
}

CUresult cuStreamQuery(CUstream s)
{
	double left = fake_device.now - fake_device.seen;

	ENTER_CONTEXT();
	if (s->capture)
		return not_captured(s);
	if (fake_device.hangs)
		return CUDA_ERROR_NOT_READY;
	/* a caller that polls sees a long piece of work some dozens of times, not thousands */
	fake_device.seen += left / 16 > POLL_NS ? left / 16 : POLL_NS;
	if (fake_device.seen < fake_device.now)
		return CUDA_ERROR_NOT_READY;
	fake_device.seen = fake_device.now;
	return CUDA_SUCCESS;
}

static CUresult keep(struct CUgraph_st *g, const struct fake_op *op)
{
	struct fake_op *more = realloc(g->op, (g->n + 1) * sizeof(*g->op));

	if (!more)
		return CUDA_ERROR_OUT_OF_MEMORY;
	g->op = more;
	g->op[g->n++] = *op;
	return CUDA_SUCCESS;
}

CUresult fake_submit(CUstream s, const struct fake_op *op)
{
	if (s->capture)
		return keep(s->capture, op);
	fake_do(op);
	free(op->blob);
	return CUDA_SUCCESS;
}

/* ---- memory operations */

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t n, CUstream s)
{
	ENTER_CONTEXT();
	if (!fake_inside(to, n))
		return CUDA_ERROR_INVALID_VALUE;
	if (not_captured(s))
		return FAKE_ERROR_CAPTURE_UNSUPPORTED;
	memcpy((void *)(uintptr_t)to, from, n);
	return CUDA_SUCCESS;
}

CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t n, CUstream s)
{
	ENTER_CONTEXT();
	if (!fake_inside(from, n))
		return CUDA_ERROR_INVALID_VALUE;
	if (not_captured(s))
		return FAKE_ERROR_CAPTURE_UNSUPPORTED;
	memcpy(to, (const void *)(uintptr_t)from, n);
	return CUDA_SUCCESS;
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t n, CUstream s)
{
	struct fake_op op = { .kind = FAKE_COPY, .to = to, .from = from, .n = n };

	ENTER_CONTEXT();
	return fake_inside(to, n) && fake_inside(from, n) ? fake_submit(s, &op) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemsetD8Async(CUdeviceptr p, unsigned char value, size_t n, CUstream s)
{
	struct fake_op op = { .kind = FAKE_FILL, .to = p, .value = value, .n = n };

	ENTER_CONTEXT();
	return fake_inside(p, n) ? fake_submit(s, &op) : CUDA_ERROR_INVALID_VALUE;
}

/* ---- graphs */

CUresult cuStreamBeginCapture_v2(CUstream s, int mode)
{
	ENTER_CONTEXT();
	(void)mode;
	if (s->capture)
		return CUDA_ERROR_INVALID_VALUE;
	s->spoilt = false;
	s->capture = calloc(1, sizeof(*s->capture));
	if (s->capture)
		s->capture->users = 1;
	return s->capture ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static void drop(struct CUgraph_st *g)
{
	if (--g->users)
		return;
	for (size_t i = 0; i < g->n; i++)
		free(g->op[i].blob);
	free(g->op);
	free(g);
}

CUresult cuStreamEndCapture(CUstream s, CUgraph *g)
{
	ENTER_CONTEXT();
	if (!s->capture)
		return CUDA_ERROR_INVALID_VALUE;
	*g = s->capture;
	s->capture = NULL;
	if (!s->spoilt)
		return CUDA_SUCCESS;
	drop(*g);
	*g = NULL;
	return FAKE_ERROR_CAPTURE_INVALIDATED;
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *x, CUgraph g, unsigned long long flags)
{
	ENTER_CONTEXT();
	(void)flags;
	*x = calloc(1, sizeof(**x));
	if (!*x)
		return CUDA_ERROR_OUT_OF_MEMORY;
	(*x)->graph = g;
	g->users++;
	return CUDA_SUCCESS;
}

CUresult cuGraphUpload(CUgraphExec x, CUstream s)
{
	ENTER_CONTEXT();
	(void)x;
	return not_captured(s);
}

CUresult cuGraphLaunch(CUgraphExec x, CUstream s)
{
	ENTER_CONTEXT();
	if (not_captured(s))
		return FAKE_ERROR_CAPTURE_UNSUPPORTED;
	for (size_t i = 0; i < x->graph->n; i++)
		fake_do(&x->graph->op[i]);
	return CUDA_SUCCESS;
}

CUresult cuGraphExecDestroy(CUgraphExec x)
{
	ENTER_CONTEXT();
	drop(x->graph);
	free(x);
	return CUDA_SUCCESS;
}

CUresult cuGraphDestroy(CUgraph g)
{
	ENTER_CONTEXT();
	drop(g);
	return CUDA_SUCCESS;
}

/* ---- events */

CUresult cuEventCreate(CUevent *ev, unsigned flags)
{
	ENTER_CONTEXT();
	(void)flags;
	*ev = calloc(1, sizeof(**ev));
	if (!*ev)
		return CUDA_ERROR_OUT_OF_MEMORY;
	(*ev)->at = -1;
	return CUDA_SUCCESS;
}

CUresult cuEventRecordWithFlags(CUevent ev, CUstream s, unsigned flags)
{
	struct fake_op op = { .kind = FAKE_EVENT, .event = ev };

	ENTER_CONTEXT();
	return flags == CU_EVENT_RECORD_EXTERNAL ? fake_submit(s, &op) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuEventRecord(CUevent ev, CUstream s)
{
	struct fake_op op = { .kind = FAKE_EVENT, .event = ev };

	ENTER_CONTEXT();
	/* a capture takes it for an edge between streams, and no time is kept */
	return s->capture ? CUDA_SUCCESS : fake_submit(s, &op);
}

CUresult cuEventElapsedTime(float *ms, CUevent from, CUevent to)
{
	ENTER_CONTEXT();
	if (from->at < 0 || to->at < 0)
		return FAKE_ERROR_INVALID_HANDLE;
	if (from->at > fake_device.seen || to->at > fake_device.seen)
		return CUDA_ERROR_NOT_READY;
	*ms = (float)((to->at - from->at) / 1e6);
	return CUDA_SUCCESS;
}

CUresult cuEventDestroy_v2(CUevent ev)
{
	ENTER_CONTEXT();
	free(ev);
	return CUDA_SUCCESS;
}

/* ---- doing it */

void fake_do(const struct fake_op *op)
{
	if (fake_device.fault || fake_device.hangs)
		return;
	if (op->kind == FAKE_KERNEL) {
		fake_run(op);
	} else if (op->kind == FAKE_EVENT) {
		op->event->at = fake_device.now;
	} else if (!fake_inside(op->to, op->n) || (op->kind == FAKE_COPY && !fake_inside(op->from, op->n))) {
		fake_device.fault = CUDA_ERROR_ILLEGAL_ADDRESS;	/* freed since it was captured */
	} else if (op->kind == FAKE_FILL) {
		memset((void *)(uintptr_t)op->to, op->value, op->n);
	} else {
		memmove((void *)(uintptr_t)op->to, (const void *)(uintptr_t)op->from, op->n);
	}
}
