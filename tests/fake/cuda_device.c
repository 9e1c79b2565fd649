/* The device, its context and its memory. */
#include "cuda.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct fake_device fake_device;

CUresult fake_enter(const char *function, bool needs_context)
{
	CUresult code = fake_failure(function);

	if (code)
		return code;
	if (!fake_device.initialized)
		return FAKE_ERROR_NOT_INITIALIZED;
	if (!needs_context)
		return CUDA_SUCCESS;
	return fake_device.context ? fake_device.fault : FAKE_ERROR_INVALID_CONTEXT;
}

double fake_seen_ns(void)
{
	return fake_device.seen;
}

int fake_has_context(void)
{
	return fake_device.context;
}

CUresult cuInit(unsigned flags)
{
	int code = fake_failure(__func__);

	(void)flags;
	if (code)
		return code;
	if (!fake_devices())
		return FAKE_ERROR_NO_DEVICE;
	fake_device.initialized = true;
	return CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int *version)
{
	*version = 13000;
	return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult code, const char **text)
{
	static char name[32];

	snprintf(name, sizeof(name), "FAKE_ERROR_%d", code);
	*text = name;
	return CUDA_SUCCESS;
}

CUresult cuGetErrorString(CUresult code, const char **text)
{
	static const struct { CUresult code; const char *text; } words[] = {
		{ CUDA_ERROR_INVALID_VALUE, "invalid argument" }, { CUDA_ERROR_OUT_OF_MEMORY, "out of memory" },
		{ 46, "device busy or unavailable" }, { FAKE_ERROR_NO_DEVICE, "no device" },
		{ FAKE_ERROR_INVALID_DEVICE, "invalid device ordinal" }, { 803, "driver and library do not match" },
		{ CUDA_ERROR_ILLEGAL_ADDRESS, "an illegal memory access was encountered" },
		{ FAKE_ERROR_OUT_OF_RESOURCES, "too many resources requested for launch" },
		{ FAKE_ERROR_CAPTURE_UNSUPPORTED, "not permitted while a stream captures" },
	};

	*text = "an error";
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (words[i].code == code)
			*text = words[i].text;
	return CUDA_SUCCESS;
}

/* ---- devices */

CUresult cuDeviceGetCount(int *n)
{
	ENTER();
	*n = fake_devices();
	return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *d, int ordinal)
{
	ENTER();
	*d = ordinal;
	return ordinal >= 0 && ordinal < fake_devices() ? CUDA_SUCCESS : FAKE_ERROR_INVALID_DEVICE;
}

CUresult cuDeviceGetName(char *name, int n, CUdevice d)
{
	ENTER();
	(void)d;
	snprintf(name, (size_t)n, "Fake GPU");
	return CUDA_SUCCESS;
}

/* nvml.c knows a device by the last byte. */
CUresult cuDeviceGetUuid_v2(CUuuid *u, CUdevice d)
{
	ENTER();
	*u = (CUuuid){ "a fake, not one" };
	u->bytes[15] = (char)d;
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice d)
{
	const struct { int attribute, value; } table[] = {
		{ 13, FAKE_SM_MHZ * 1000 },			/* clocks in kHz */
		{ CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 4 },
		{ 36, FAKE_MEMORY_MHZ * 1000 }, { 37, FAKE_BUS_BITS },
		{ CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, (int)fake_number("FAKE_L2", 64 << 10) },
		{ 39, 2048 },					/* threads, */
		{ CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 9 }, { CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0 },
		{ 81, 228 << 10 }, { 82, 65536 },		/* shared memory and registers of a multiprocessor, */
		{ CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 227 << 10 },
		{ 106, 32 },					/* and blocks */
		{ CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, 1024 },
	};

	ENTER();
	(void)d;
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		if (table[i].attribute == attribute) {
			*value = table[i].value;
			return CUDA_SUCCESS;
		}
	return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuDeviceTotalMem_v2(size_t *n, CUdevice d)
{
	ENTER();
	(void)d;
	*n = (size_t)fake_number("FAKE_MEMORY", 1 << 30);
	return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *c, CUdevice d)
{
	ENTER();
	(void)d;
	fake_device.context = true;
	fake_device.rng = (unsigned long long)fake_number("FAKE_SEED", 1);
	*c = (CUcontext)&fake_device;
	return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext c)
{
	ENTER_CONTEXT();
	return c == (CUcontext)&fake_device ? CUDA_SUCCESS : FAKE_ERROR_INVALID_CONTEXT;
}

CUresult cuCtxSetLimit(int limit, size_t value)
{
	ENTER_CONTEXT();
	(void)value;
	return limit == CU_LIMIT_PERSISTING_L2_CACHE_SIZE ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuCtxResetPersistingL2Cache(void)
{
	ENTER_CONTEXT();
	return CUDA_SUCCESS;
}

/* ---- memory */

static struct piece {
	CUdeviceptr p;
	size_t n;
} *pieces;
static size_t npieces, used;

CUresult cuMemGetInfo_v2(size_t *available, size_t *total)
{
	ENTER_CONTEXT();
	*total = (size_t)fake_number("FAKE_MEMORY", 1 << 30);
	*available = *total - used;
	return CUDA_SUCCESS;
}

CUresult cuMemAlloc_v2(CUdeviceptr *p, size_t n)
{
	struct piece *more;
	void *m;

	ENTER_CONTEXT();
	if (!n)
		return CUDA_ERROR_INVALID_VALUE;
	if (n > (size_t)fake_number("FAKE_MEMORY", 1 << 30) - used)
		return CUDA_ERROR_OUT_OF_MEMORY;
	m = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	more = realloc(pieces, (npieces + 1) * sizeof(*pieces));
	if (m == MAP_FAILED || !more)
		return CUDA_ERROR_OUT_OF_MEMORY;
	pieces = more;
	*p = (CUdeviceptr)(uintptr_t)m;
	pieces[npieces++] = (struct piece){ *p, n };
	used += n;
	return CUDA_SUCCESS;
}

CUresult cuMemFree_v2(CUdeviceptr p)
{
	ENTER_CONTEXT();
	for (size_t i = 0; i < npieces; i++)
		if (pieces[i].p == p) {
			munmap((void *)(uintptr_t)p, pieces[i].n);
			used -= pieces[i].n;
			pieces[i] = pieces[--npieces];
			return CUDA_SUCCESS;
		}
	return CUDA_ERROR_INVALID_VALUE;
}

bool fake_inside(CUdeviceptr p, size_t n)
{
	for (size_t i = 0; i < npieces; i++)
		if (p >= pieces[i].p && p - pieces[i].p <= pieces[i].n && n <= pieces[i].n - (p - pieces[i].p))
			return true;
	return false;
}
