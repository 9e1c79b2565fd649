/* The CUDA driver, by dlopen. */
#include "gpu.h"
#include "clock.h"
#include "cuda_api.h"
#include "file.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DECLARE(name, args) CUresult (*name) args;
static struct {
	bool loaded;
	CUDA_FUNCTIONS(DECLARE)
	CUDA_OPTIONAL(DECLARE)
} cu;

struct gpu {
	CUdevice device;
	CUcontext context;
	CUstream stream;
	CUresult last;		/* of the last failure */
	bool recording;		/* a graph */
	struct gpu_info info;
};

static int load(struct err *e)
{
#define NAME(name, args) { #name, &cu.name },
	static const struct { const char *name; void *slot; } need[] = { CUDA_FUNCTIONS(NAME) },
		may[] = { CUDA_OPTIONAL(NAME) };
	void *lib, *p;

	if (cu.loaded)
		return 0;
	/* kernels are loaded with their module, not by their first launch, which may be while a graph is recorded */
	setenv("CUDA_MODULE_LOADING", "EAGER", 0);
	lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!lib)
		return err_set(e, "no CUDA driver (libcuda.so.1)");
	for (size_t i = 0; i < sizeof(need) / sizeof(*need); i++) {
		p = dlsym(lib, need[i].name);
		if (!p)
			return err_set(e, "the CUDA driver is too old: it lacks %s", need[i].name);
		memcpy(need[i].slot, &p, sizeof(p));
	}
	for (size_t i = 0; i < sizeof(may) / sizeof(*may); i++) {
		p = dlsym(lib, may[i].name);
		memcpy(may[i].slot, &p, sizeof(p));
	}
	cu.loaded = true;
	return 0;
}

/* 0 for success; else remembers the code and puts "CALL: words (NAME)" into e. */
static int check(struct gpu *g, CUresult code, const char *call, struct err *e)
{
	const char *name = NULL, *words = NULL;

	if (code == CUDA_SUCCESS)
		return 0;
	if (g)
		g->last = code;
	if (cu.cuGetErrorName(code, &name) || !name)
		name = "unknown code";
	if (cu.cuGetErrorString(code, &words) || !words)
		words = "the driver has no words for it";
	return err_set(e, "%s: %s (%s)", call, words, name);
}
#define CALL(g, e, f, ...) check(g, cu.f(__VA_ARGS__), #f, e)

/* The kernel module's version, which is the driver's. */
static void driver_version(char *out, size_t n)
{
	struct buf b = BUF_INIT;
	struct err ignored;

	out[0] = 0;
	if (!file_read("/sys/module/nvidia/version", &b, &ignored) && b.len)
		snprintf(out, n, "%.*s", (int)strcspn(b.data, " \n"), b.data);
	buf_release(&b);
}

/* An attribute that one can do without; 0 when the driver does not tell. */
static int may_have(const struct gpu *g, int attribute)
{
	int value;

	return cu.cuDeviceGetAttribute(&value, attribute, g->device) == CUDA_SUCCESS && value > 0 ? value : 0;
}

static int read_info(struct gpu *g, struct err *e)
{
	struct gpu_info *i = &g->info;
	int major, minor, l2, *const slot[] = { &i->sm_count, &l2, &major, &minor, &i->shared_max };
	static const int attribute[] = { CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE,
		CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
		CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN };
	size_t memory;
	CUuuid u;
	char *p = i->uuid;

	for (size_t k = 0; k < sizeof(attribute) / sizeof(*attribute); k++)
		if (CALL(g, e, cuDeviceGetAttribute, slot[k], attribute[k], g->device))
			return -1;
	if (CALL(g, e, cuDeviceGetName, i->name, sizeof(i->name), g->device) ||
	    CALL(g, e, cuDeviceGetUuid_v2, &u, g->device) || CALL(g, e, cuDeviceTotalMem_v2, &memory, g->device) ||
	    CALL(g, e, cuDriverGetVersion, &i->cuda))
		return -1;
	p += sprintf(p, "GPU");
	for (int k = 0; k < 16; k++)
		p += sprintf(p, "%s%02x", k == 0 || k == 4 || k == 6 || k == 8 || k == 10 ? "-" : "",
			     (unsigned char)u.bytes[k]);
	i->clock_khz = may_have(g, CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
	i->memory_khz = may_have(g, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
	i->bus_bits = may_have(g, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
	driver_version(i->driver, sizeof(i->driver));
	i->cc = major * 10 + minor;
	i->l2_bytes = l2;
	i->memory_bytes = (long long)memory;
	return 0;
}

int gpu_count(struct err *e)
{
	int n;

	return load(e) || CALL(NULL, e, cuInit, 0) || CALL(NULL, e, cuDeviceGetCount, &n) ? -1 : n;
}

struct gpu *gpu_open(int ordinal, struct gpu_info *info, struct err *e)
{
	struct gpu *g = xcalloc(1, sizeof(*g));

	if (load(e) || CALL(g, e, cuInit, 0) || CALL(g, e, cuDeviceGet, &g->device, ordinal) || read_info(g, e)) {
		free(g);
		return NULL;
	}
	if (info)
		*info = g->info;
	return g;
}

void gpu_close(struct gpu *g)
{
	free(g);
}

int gpu_start(struct gpu *g, struct err *e)
{
	struct err ignored;

	if (g->stream)
		return 0;
	if (CALL(g, e, cuDevicePrimaryCtxRetain, &g->context, g->device) || CALL(g, e, cuCtxSetCurrent, g->context) ||
	    CALL(g, e, cuStreamCreate, &g->stream, CU_STREAM_NON_BLOCKING))
		return -1;
	/* no carve-out of L2 for anyone; devices without one refuse the limit, which is as good */
	if (CALL(g, &ignored, cuCtxSetLimit, CU_LIMIT_PERSISTING_L2_CACHE_SIZE, 0))
		g->last = CUDA_SUCCESS;
	return 0;
}

void gpu_arch(const struct gpu *g, char out[16])
{
	snprintf(out, 16, "sm_%d", g->info.cc);
}

const struct gpu_info *gpu_info(const struct gpu *g)
{
	return &g->info;
}

bool gpu_fault(const struct gpu *g)
{
	switch (g->last) {
	case CUDA_ERROR_ILLEGAL_ADDRESS:
	case CUDA_ERROR_LAUNCH_TIMEOUT:
	case CUDA_ERROR_ASSERT:
	case CUDA_ERROR_HARDWARE_STACK_ERROR:
	case CUDA_ERROR_ILLEGAL_INSTRUCTION:
	case CUDA_ERROR_MISALIGNED_ADDRESS:
	case CUDA_ERROR_INVALID_ADDRESS_SPACE:
	case CUDA_ERROR_INVALID_PC:
	case CUDA_ERROR_LAUNCH_FAILED:
	case CUDA_ERROR_TENSOR_MEMORY_LEAK:
		return true;
	default:
		return false;
	}
}

bool gpu_blames_code(const struct gpu *g)
{
	switch (g->last) {
	case CUDA_SUCCESS:	/* checks of our own */
	case CUDA_ERROR_INVALID_VALUE:
	case CUDA_ERROR_INVALID_IMAGE:
	case CUDA_ERROR_NO_BINARY_FOR_GPU:
	case CUDA_ERROR_INVALID_PTX:
	case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
	case CUDA_ERROR_INVALID_SOURCE:
	case CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND:
	case CUDA_ERROR_NOT_FOUND:
	case CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES:
	case CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE:
	case CUDA_ERROR_NOT_SUPPORTED:
	case CUDA_ERROR_INVALID_CLUSTER_SIZE:
		return true;
	default:
		return gpu_fault(g);
	}
}

bool gpu_out_of_memory(const struct gpu *g)
{
	return g->last == CUDA_ERROR_OUT_OF_MEMORY;
}

void gpu_forget(struct gpu *g)
{
	g->last = CUDA_SUCCESS;
}

/* ---- memory */

int gpu_alloc(struct gpu *g, size_t n, uint64_t *p, struct err *e)
{
	*p = 0;
	return CALL(g, e, cuMemAlloc_v2, p, n);
}

void gpu_free(struct gpu *g, uint64_t p)
{
	(void)g;
	if (p)
		cu.cuMemFree_v2(p);
}

int gpu_memory_free(struct gpu *g, size_t *n, struct err *e)
{
	size_t total;

	return CALL(g, e, cuMemGetInfo_v2, n, &total);
}

int gpu_fill(struct gpu *g, uint64_t p, uint8_t value, size_t n, struct err *e)
{
	return n ? CALL(g, e, cuMemsetD8Async, p, value, n, g->stream) : 0;
}

int gpu_read(struct gpu *g, void *to, uint64_t from, size_t n, struct err *e)
{
	if (n && CALL(g, e, cuMemcpyDtoHAsync_v2, to, from, n, g->stream))
		return -1;
	return gpu_sync(g, e);
}

int gpu_write(struct gpu *g, uint64_t to, const void *from, size_t n, struct err *e)
{
	if (n && CALL(g, e, cuMemcpyHtoDAsync_v2, to, from, n, g->stream))
		return -1;
	return gpu_sync(g, e);
}

int gpu_copy(struct gpu *g, uint64_t to, uint64_t from, size_t n, struct err *e)
{
	return n ? CALL(g, e, cuMemcpyDtoDAsync_v2, to, from, n, g->stream) : 0;
}

int gpu_sync(struct gpu *g, struct err *e)
{
	return CALL(g, e, cuStreamSynchronize, g->stream);
}

int gpu_busy(struct gpu *g, struct err *e)
{
	CUresult code = cu.cuStreamQuery(g->stream);

	return code == CUDA_ERROR_NOT_READY ? 1 : check(g, code, "cuStreamQuery", e);
}

int gpu_wait(struct gpu *g, double seconds, struct err *e)
{
	static const struct timespec nap = { 0, 50000 };
	double end = clock_now() + seconds;
	int rc;

	while ((rc = gpu_busy(g, e)) > 0 && clock_now() < end)
		nanosleep(&nap, NULL);
	return rc;
}

/* ---- code */

void *gpu_module(struct gpu *g, const void *cubin, struct err *e)
{
	CUmodule m;

	return CALL(g, e, cuModuleLoadData, &m, cubin) ? NULL : m;
}

void gpu_module_free(struct gpu *g, void *module)
{
	(void)g;
	if (module)
		cu.cuModuleUnload(module);
}

void *gpu_function(struct gpu *g, void *module, const char *name, struct err *e)
{
	CUfunction f;

	if (!CALL(g, e, cuModuleGetFunction, &f, module, name))
		return f;
	if (g->last == CUDA_ERROR_NOT_FOUND)
		err_set(e, "the module has no kernel '%s'", name);
	return NULL;
}

int gpu_function_params(struct gpu *g, void *func, size_t *sizes, int max, int *n, struct err *e)
{
	size_t offset;

	if (!cu.cuFuncGetParamInfo)
		return 1;
	for (*n = 0; *n < max; ++*n) {
		CUresult code = cu.cuFuncGetParamInfo(func, (size_t)*n, &offset, &sizes[*n]);

		if (code == CUDA_ERROR_INVALID_VALUE)
			return 0;
		if (check(g, code, "cuFuncGetParamInfo", e))
			return -1;
	}
	return err_set(e, "the kernel has more than %d parameters", max);
}

int gpu_function_allow(struct gpu *g, void *func, unsigned shared, unsigned cluster, struct err *e)
{
	if (shared > (unsigned)g->info.shared_max)
		return err_set(e, "%u bytes of shared memory asked for, the device has %d", shared, g->info.shared_max);
	if (shared > 48 << 10 &&
	    (CALL(g, e, cuFuncSetCacheConfig, func, CU_FUNC_CACHE_PREFER_SHARED) ||
	     CALL(g, e, cuFuncSetAttribute, func, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)shared)))
		return -1;
	if (cluster > 8 && CALL(g, e, cuFuncSetAttribute, func, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1))
		return -1;
	return 0;
}

/* The driver's form of a launch; attributes lie in a, of which there are four at most. */
static CUlaunchConfig config(const struct gpu *g, const struct gpu_launch *l, CUlaunchAttribute a[4])
{
	CUlaunchConfig c = { .grid_x = l->grid[0], .grid_y = l->grid[1], .grid_z = l->grid[2], .block_x = l->block,
			     .block_y = 1, .block_z = 1, .shared = l->shared, .stream = g->stream, .attrs = a };

	memset(a, 0, 4 * sizeof(*a));
	if (l->pdl) {
		a[c.nattrs].id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
		a[c.nattrs++].value.serialization = 1;
	}
	if (l->cooperative) {
		a[c.nattrs].id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
		a[c.nattrs++].value.cooperative = 1;
	}
	if (l->cluster > 1) {
		a[c.nattrs].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
		a[c.nattrs].value.cluster.x = l->cluster;
		a[c.nattrs].value.cluster.y = 1;
		a[c.nattrs++].value.cluster.z = 1;
		a[c.nattrs].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE;
		a[c.nattrs++].value.scheduling = CU_CLUSTER_SCHEDULING_POLICY_SPREAD;
	}
	return c;
}

int gpu_launch(struct gpu *g, const struct gpu_launch *l, struct err *e)
{
	CUlaunchAttribute a[4];
	CUlaunchConfig c = config(g, l, a);

	return CALL(g, e, cuLaunchKernelEx, &c, l->func, l->params, NULL);
}

/* ---- what code takes */

void gpu_multiprocessor(const struct gpu *g, struct gpu_multiprocessor *m)
{
	*m = (struct gpu_multiprocessor){
		.registers = may_have(g, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR),
		.threads = may_have(g, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR),
		.blocks = may_have(g, CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR),
		.shared = may_have(g, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR),
		.reserved = may_have(g, CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK),
	};
}

static int code_attribute(void *func, int attribute)
{
	int value;

	return cu.cuFuncGetAttribute && !cu.cuFuncGetAttribute(&value, attribute, func) ? value : -1;
}

void gpu_code(const struct gpu *g, const struct gpu_launch *l, struct gpu_code *out)
{
	CUlaunchAttribute a[4];
	CUlaunchConfig c = config(g, l, a);

	*out = (struct gpu_code){ .registers = code_attribute(l->func, CU_FUNC_ATTRIBUTE_NUM_REGS),
				  .local = code_attribute(l->func, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES),
				  .shared = code_attribute(l->func, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES) };
	if (!cu.cuOccupancyMaxActiveBlocksPerMultiprocessor ||
	    cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(&out->blocks, l->func, (int)l->block, l->shared))
		out->blocks = -1;
	if (l->cluster < 2 || !cu.cuOccupancyMaxActiveClusters ||
	    cu.cuOccupancyMaxActiveClusters(&out->clusters, l->func, &c))
		out->clusters = -1;
}

void gpu_profile(struct gpu *g, bool on)
{
	(void)g;
	if (on && cu.cuProfilerStart)
		cu.cuProfilerStart();
	else if (!on && cu.cuProfilerStop)
		cu.cuProfilerStop();
}

/* ---- tensor maps */

int gpu_map_type(const char *dtype)
{
	static const struct { const char *name; int type; } types[] = {
		{ "float64", CU_TENSOR_MAP_DATA_TYPE_FLOAT64 }, { "float32", CU_TENSOR_MAP_DATA_TYPE_FLOAT32 },
		{ "float16", CU_TENSOR_MAP_DATA_TYPE_FLOAT16 }, { "bfloat16", CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 },
		{ "float8_e4m3fn", CU_TENSOR_MAP_DATA_TYPE_UINT8 }, { "float8_e5m2", CU_TENSOR_MAP_DATA_TYPE_UINT8 },
		{ "int64", CU_TENSOR_MAP_DATA_TYPE_INT64 }, { "int32", CU_TENSOR_MAP_DATA_TYPE_INT32 },
		{ "int16", CU_TENSOR_MAP_DATA_TYPE_UINT16 }, { "int8", CU_TENSOR_MAP_DATA_TYPE_UINT8 },
		{ "uint8", CU_TENSOR_MAP_DATA_TYPE_UINT8 }, { "bool", CU_TENSOR_MAP_DATA_TYPE_UINT8 },
	};

	for (size_t i = 0; dtype && i < sizeof(types) / sizeof(*types); i++)
		if (!strcmp(types[i].name, dtype))
			return types[i].type;
	return -1;
}

int gpu_tensormap(struct gpu *g, const struct gpu_tensormap *m, uint64_t address, void *out, struct err *e)
{
	return CALL(g, e, cuTensorMapEncodeTiled, out, m->type, (uint32_t)m->rank, (void *)(uintptr_t)address, m->dims,
		    m->strides, m->box, m->element_strides, m->interleave, m->swizzle, m->l2promo, m->oob);
}

/* ---- graphs and events */

int gpu_record_begin(struct gpu *g, struct err *e)
{
	if (CALL(g, e, cuStreamBeginCapture_v2, g->stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL))
		return -1;
	g->recording = true;
	return 0;
}

void *gpu_record_end(struct gpu *g, struct err *e)
{
	CUgraph graph = NULL;
	CUgraphExec x = NULL;

	g->recording = false;
	if (CALL(g, e, cuStreamEndCapture, g->stream, &graph))
		return NULL;
	if (!CALL(g, e, cuGraphInstantiateWithFlags, &x, graph, 0) && CALL(g, e, cuGraphUpload, x, g->stream)) {
		cu.cuGraphExecDestroy(x);
		x = NULL;
	}
	cu.cuGraphDestroy(graph);
	return x;
}

void gpu_record_drop(struct gpu *g)
{
	CUgraph graph = NULL;

	g->recording = false;
	cu.cuStreamEndCapture(g->stream, &graph);
	if (graph)
		cu.cuGraphDestroy(graph);
}

int gpu_graph_run(struct gpu *g, void *graph, struct err *e)
{
	return CALL(g, e, cuGraphLaunch, graph, g->stream);
}

void gpu_graph_free(struct gpu *g, void *graph)
{
	(void)g;
	if (graph)
		cu.cuGraphExecDestroy(graph);
}

void *gpu_event(struct gpu *g, struct err *e)
{
	CUevent ev;

	return CALL(g, e, cuEventCreate, &ev, 0) ? NULL : ev;
}

int gpu_event_record(struct gpu *g, void *event, struct err *e)
{
	if (g->recording)
		return CALL(g, e, cuEventRecordWithFlags, event, g->stream, CU_EVENT_RECORD_EXTERNAL);
	return CALL(g, e, cuEventRecord, event, g->stream);
}

int gpu_event_ns(struct gpu *g, void *from, void *to, double *ns, struct err *e)
{
	float ms;

	if (CALL(g, e, cuEventElapsedTime, &ms, from, to))
		return -1;
	*ns = (double)ms * 1e6;
	return 0;
}

void gpu_event_free(struct gpu *g, void *event)
{
	(void)g;
	if (event)
		cu.cuEventDestroy_v2(event);
}

int gpu_l2_reset(struct gpu *g, struct err *e)
{
	return check(g, cu.cuCtxResetPersistingL2Cache(), "cuCtxResetPersistingL2Cache", e);
}
