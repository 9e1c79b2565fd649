/* The part of the CUDA driver's binary interface that gpu.c uses, declared here so that nothing of CUDA is needed to
 * build. Names and values are the driver's own (CUDA 12.0 and later); only gpu.c includes this. */
#ifndef CUDA_API_H
#define CUDA_API_H
#include <stddef.h>
#include <stdint.h>

typedef int CUresult;
typedef int CUdevice;
typedef uint64_t CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphExec_st *CUgraphExec;

typedef struct { char bytes[16]; } CUuuid;
typedef struct { _Alignas(64) uint64_t opaque[16]; } CUtensorMap;

enum {
	CUDA_SUCCESS = 0,
	CUDA_ERROR_INVALID_VALUE = 1,
	CUDA_ERROR_OUT_OF_MEMORY = 2,
	CUDA_ERROR_INVALID_IMAGE = 200,
	CUDA_ERROR_NO_BINARY_FOR_GPU = 209,
	CUDA_ERROR_INVALID_PTX = 218,
	CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222,
	CUDA_ERROR_INVALID_SOURCE = 300,
	CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND = 302,
	CUDA_ERROR_NOT_FOUND = 500,
	CUDA_ERROR_NOT_READY = 600,
	CUDA_ERROR_ILLEGAL_ADDRESS = 700,
	CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES = 701,
	CUDA_ERROR_LAUNCH_TIMEOUT = 702,
	CUDA_ERROR_ASSERT = 710,
	CUDA_ERROR_HARDWARE_STACK_ERROR = 714,
	CUDA_ERROR_ILLEGAL_INSTRUCTION = 715,
	CUDA_ERROR_MISALIGNED_ADDRESS = 716,
	CUDA_ERROR_INVALID_ADDRESS_SPACE = 717,
	CUDA_ERROR_INVALID_PC = 718,
	CUDA_ERROR_LAUNCH_FAILED = 719,
	CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE = 720,
	CUDA_ERROR_TENSOR_MEMORY_LEAK = 721,
	CUDA_ERROR_NOT_SUPPORTED = 801,
	CUDA_ERROR_INVALID_CLUSTER_SIZE = 912,
};

enum {
	CU_DEVICE_ATTRIBUTE_CLOCK_RATE = 13,
	CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
	CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE = 36,
	CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH = 37,
	CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE = 38,
	CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
	CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
	CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR = 39,
	CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR = 81,
	CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR = 82,
	CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
	CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR = 106,
	CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK = 111,
};

enum {
	CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1,
	CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES = 3,
	CU_FUNC_ATTRIBUTE_NUM_REGS = 4,
	CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
	CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED = 14,
};

enum { CU_FUNC_CACHE_PREFER_SHARED = 1 };
enum { CU_LIMIT_PERSISTING_L2_CACHE_SIZE = 6 };
enum { CU_STREAM_NON_BLOCKING = 1 };
enum { CU_STREAM_CAPTURE_MODE_THREAD_LOCAL = 1 };
enum { CU_EVENT_RECORD_EXTERNAL = 1 };

enum {
	CU_LAUNCH_ATTRIBUTE_COOPERATIVE = 2,
	CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION = 4,
	CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE = 5,
	CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION = 6,
};
enum { CU_CLUSTER_SCHEDULING_POLICY_SPREAD = 1 };

typedef struct {
	int id;
	char pad[4];
	union {
		char pad[64];
		int cooperative;
		struct {
			unsigned x, y, z;
		} cluster;
		int scheduling;
		int serialization;
	} value;
} CUlaunchAttribute;

typedef struct {
	unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared;
	CUstream stream;
	CUlaunchAttribute *attrs;
	unsigned nattrs;
} CUlaunchConfig;

_Static_assert(sizeof(CUlaunchAttribute) == 72, "layout of CUlaunchAttribute");
_Static_assert(sizeof(CUlaunchConfig) == 56, "layout of CUlaunchConfig");
_Static_assert(sizeof(CUtensorMap) == 128, "layout of CUtensorMap");

enum {
	CU_TENSOR_MAP_DATA_TYPE_UINT8 = 0, CU_TENSOR_MAP_DATA_TYPE_UINT16 = 1, CU_TENSOR_MAP_DATA_TYPE_INT32 = 3,
	CU_TENSOR_MAP_DATA_TYPE_INT64 = 5, CU_TENSOR_MAP_DATA_TYPE_FLOAT16 = 6, CU_TENSOR_MAP_DATA_TYPE_FLOAT32 = 7,
	CU_TENSOR_MAP_DATA_TYPE_FLOAT64 = 8, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 = 9,
};

/* result name(arguments): the table gpu.c fills by dlsym */
#define CUDA_FUNCTIONS(F) \
	F(cuInit, (unsigned flags)) \
	F(cuDriverGetVersion, (int *version)) \
	F(cuGetErrorName, (CUresult code, const char **text)) \
	F(cuGetErrorString, (CUresult code, const char **text)) \
	F(cuDeviceGetCount, (int *n)) \
	F(cuDeviceGet, (CUdevice *d, int ordinal)) \
	F(cuDeviceGetName, (char *name, int n, CUdevice d)) \
	F(cuDeviceGetUuid_v2, (CUuuid *u, CUdevice d)) \
	F(cuDeviceGetAttribute, (int *value, int attribute, CUdevice d)) \
	F(cuDeviceTotalMem_v2, (size_t *n, CUdevice d)) \
	F(cuDevicePrimaryCtxRetain, (CUcontext *c, CUdevice d)) \
	F(cuCtxSetCurrent, (CUcontext c)) \
	F(cuCtxSetLimit, (int limit, size_t value)) \
	F(cuCtxResetPersistingL2Cache, (void)) \
	F(cuMemGetInfo_v2, (size_t *available, size_t *total)) \
	F(cuMemAlloc_v2, (CUdeviceptr *p, size_t n)) \
	F(cuMemFree_v2, (CUdeviceptr p)) \
	F(cuMemcpyHtoDAsync_v2, (CUdeviceptr to, const void *from, size_t n, CUstream s)) \
	F(cuMemcpyDtoHAsync_v2, (void *to, CUdeviceptr from, size_t n, CUstream s)) \
	F(cuMemcpyDtoDAsync_v2, (CUdeviceptr to, CUdeviceptr from, size_t n, CUstream s)) \
	F(cuMemsetD8Async, (CUdeviceptr p, unsigned char value, size_t n, CUstream s)) \
	F(cuStreamCreate, (CUstream *s, unsigned flags)) \
	F(cuStreamSynchronize, (CUstream s)) \
	F(cuStreamQuery, (CUstream s)) \
	F(cuStreamBeginCapture_v2, (CUstream s, int mode)) \
	F(cuStreamEndCapture, (CUstream s, CUgraph *g)) \
	F(cuGraphInstantiateWithFlags, (CUgraphExec *x, CUgraph g, unsigned long long flags)) \
	F(cuGraphUpload, (CUgraphExec x, CUstream s)) \
	F(cuGraphLaunch, (CUgraphExec x, CUstream s)) \
	F(cuGraphExecDestroy, (CUgraphExec x)) \
	F(cuGraphDestroy, (CUgraph g)) \
	F(cuEventCreate, (CUevent *ev, unsigned flags)) \
	F(cuEventRecord, (CUevent ev, CUstream s)) \
	F(cuEventRecordWithFlags, (CUevent ev, CUstream s, unsigned flags)) \
	F(cuEventElapsedTime, (float *ms, CUevent from, CUevent to)) \
	F(cuEventDestroy_v2, (CUevent ev)) \
	F(cuModuleLoadData, (CUmodule *m, const void *image)) \
	F(cuModuleUnload, (CUmodule m)) \
	F(cuModuleGetFunction, (CUfunction *f, CUmodule m, const char *name)) \
	F(cuFuncSetAttribute, (CUfunction f, int attribute, int value)) \
	F(cuFuncSetCacheConfig, (CUfunction f, int config)) \
	F(cuLaunchKernelEx, (const CUlaunchConfig *c, CUfunction f, void **params, void **extra)) \
	F(cuTensorMapEncodeTiled, (CUtensorMap *m, int dtype, uint32_t rank, void *p, const uint64_t *dims, \
				   const uint64_t *strides, const uint32_t *box, const uint32_t *element_strides, \
				   int interleave, int swizzle, int l2promo, int oob))

/* Absent from older drivers; checked before use. */
#define CUDA_OPTIONAL(F) \
	F(cuFuncGetParamInfo, (CUfunction f, size_t index, size_t *offset, size_t *size)) \
	F(cuFuncGetAttribute, (int *value, int attribute, CUfunction f)) \
	F(cuOccupancyMaxActiveBlocksPerMultiprocessor, (int *blocks, CUfunction f, int threads, size_t shared)) \
	F(cuOccupancyMaxActiveClusters, (int *clusters, CUfunction f, const CUlaunchConfig *c)) \
	F(cuProfilerStart, (void)) \
	F(cuProfilerStop, (void))
#endif
