/* Code: modules, which are shared objects of the host, and launches. */
#include "cuda.h"
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PARAMS = 256, SLOT = 16, STRUCT_MAX = 4096, SHARED_DEFAULT = 48 << 10, SHARED_MAX = 227 << 10, REGISTERS = 65536 };

/* ---- modules */

/* Bytes of an image that this machine can load: its section headers stand last. 0: it is not one. */
static size_t image_size(const void *image)
{
	Elf64_Ehdr h, own;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, &own, sizeof(own));

	close(fd);
	memcpy(&h, image, sizeof(h));
	if (n != sizeof(own) || memcmp(h.e_ident, ELFMAG, SELFMAG) || h.e_machine != own.e_machine || h.e_type != ET_DYN)
		return 0;
	return h.e_shoff + (size_t)h.e_shnum * h.e_shentsize;
}

/* From a file of its own each time, so that no two modules share their static variables. */
static void *load(const void *image, size_t n)
{
	const char *tmp = getenv("TMPDIR");
	char path[4096];
	void *handle = NULL;
	int fd;

	snprintf(path, sizeof(path), "%s/d2k-fake-module.XXXXXX", tmp && *tmp ? tmp : "/tmp");
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return NULL;
	if (write(fd, image, n) == (ssize_t)n)
		handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	close(fd);
	unlink(path);
	return handle;
}

CUresult cuModuleLoadData(CUmodule *m, const void *image)
{
	size_t n = image_size(image);
	struct CUmod_st *new;

	ENTER_CONTEXT();
	if (!n)
		return FAKE_ERROR_NO_BINARY;
	new = calloc(1, sizeof(*new));
	if (!new)
		return CUDA_ERROR_OUT_OF_MEMORY;
	new->handle = load(image, n);
	if (!new->handle) {
		free(new);
		return FAKE_ERROR_INVALID_IMAGE;
	}
	new->kernels = dlsym(new->handle, "fake_kernels");
	new->bias = fake_number("FAKE_PLACEMENT", 0) * fake_normal(&fake_device.rng);
	*m = new;
	return CUDA_SUCCESS;
}

/* Functions stay, so that a launch of one whose module is gone is found out. */
CUresult cuModuleUnload(CUmodule m)
{
	ENTER_CONTEXT();
	for (struct CUfunc_st *f = m->functions; f; f = f->next)
		f->module = NULL;
	dlclose(m->handle);
	free(m);
	return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction *f, CUmodule m, const char *name)
{
	char sizes[256];
	void *entry;

	ENTER_CONTEXT();
	entry = dlsym(m->handle, name);
	if (!entry)
		return CUDA_ERROR_NOT_FOUND;
	snprintf(sizes, sizeof(sizes), "%.240s_params", name);
	*f = calloc(1, sizeof(**f));
	if (!*f)
		return CUDA_ERROR_OUT_OF_MEMORY;
	**f = (struct CUfunc_st){ .module = m, .entry = entry, .shared_max = SHARED_DEFAULT, .next = m->functions,
				  .sizes = m->kernels ? dlsym(m->handle, sizes) : NULL };
	m->functions = *f;
	return m->kernels && !(*f)->sizes ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
}

CUresult cuFuncGetParamInfo(CUfunction f, size_t index, size_t *offset, size_t *size)
{
	ENTER_CONTEXT();
	*offset = 0;
	for (size_t i = 0; f->sizes && f->sizes[i]; i++) {
		*offset = (*offset + f->sizes[i] - 1) / f->sizes[i] * f->sizes[i];
		*size = f->sizes[i];
		if (i == index)
			return CUDA_SUCCESS;
		*offset += f->sizes[i];
	}
	return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuFuncSetAttribute(CUfunction f, int attribute, int value)
{
	ENTER_CONTEXT();
	if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
		return CUDA_SUCCESS;
	if (value < 0 || value > SHARED_MAX)
		return CUDA_ERROR_INVALID_VALUE;
	f->shared_max = value;
	return CUDA_SUCCESS;
}

/* An image's code takes nothing of a multiprocessor but what its kernels claim by kernel_registers. */
static unsigned registers_of(CUfunction f)
{
	const int *registers = f->module ? dlsym(f->module->handle, "kernel_registers") : NULL;

	return registers ? (unsigned)*registers : 32;
}

CUresult cuFuncGetAttribute(int *value, int attribute, CUfunction f)
{
	ENTER_CONTEXT();
	*value = attribute == CU_FUNC_ATTRIBUTE_NUM_REGS ? (int)registers_of(f) : 0;
	return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction f, int threads, size_t shared)
{
	int registers;

	ENTER_CONTEXT();
	if (cuFuncGetAttribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, f) || threads < 1)
		return CUDA_ERROR_INVALID_VALUE;
	*blocks = 2048 / threads < 32 ? 2048 / threads : 32;
	if (REGISTERS / (registers * threads) < *blocks)
		*blocks = REGISTERS / (registers * threads);
	if ((228 << 10) / ((int)shared + 1024) < *blocks)
		*blocks = (228 << 10) / ((int)shared + 1024);
	return CUDA_SUCCESS;
}

/* The file that FAKE_PROFILER names is told of every launch between the two. */
static bool profiled;

CUresult cuProfilerStart(void)
{
	ENTER_CONTEXT();
	profiled = true;
	return CUDA_SUCCESS;
}

CUresult cuProfilerStop(void)
{
	ENTER_CONTEXT();
	profiled = false;
	return CUDA_SUCCESS;
}

static void tell_profiler(const CUlaunchConfig *c)
{
	const char *path = getenv("FAKE_PROFILER");
	FILE *f = profiled && path ? fopen(path, "a") : NULL;

	if (f) {
		fprintf(f, "launch %u %u %u %u\n", c->grid_x, c->grid_y, c->grid_z, c->block_x);
		fclose(f);
	}
}

CUresult cuFuncSetCacheConfig(CUfunction f, int config)
{
	ENTER_CONTEXT();
	(void)f;
	(void)config;
	return CUDA_SUCCESS;
}

CUresult cuTensorMapEncodeTiled(CUtensorMap *m, int dtype, uint32_t rank, void *p, const uint64_t *dims,
				const uint64_t *strides, const uint32_t *box, const uint32_t *element_strides,
				int interleave, int swizzle, int l2promo, int oob)
{
	ENTER_CONTEXT();
	(void)dtype, (void)dims, (void)strides, (void)box, (void)element_strides;
	(void)interleave, (void)swizzle, (void)l2promo, (void)oob;
	if (!rank || rank > 5 || !fake_inside((CUdeviceptr)(uintptr_t)p, 1))
		return CUDA_ERROR_INVALID_VALUE;
	*m = (CUtensorMap){ .opaque = { (uint64_t)(uintptr_t)p } };
	return CUDA_SUCCESS;
}

/* ---- launches */

/* An oracle's kernel is (struct, n), and nothing tells how large its struct is: all that may be one, as far as it can
 * be read. */
static unsigned char *copy_oracle_params(void **params)
{
	unsigned char *blob = calloc(1, STRUCT_MAX + SLOT);
	int fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);

	if (blob && (fd < 0 || pread(fd, blob, STRUCT_MAX, (off_t)(uintptr_t)params[0]) <= 0)) {
		free(blob);
		blob = NULL;
	}
	if (blob)
		memcpy(blob + STRUCT_MAX, params[1], sizeof(long long));
	close(fd);
	return blob;
}

static unsigned char *copy_params(const struct CUfunc_st *f, void **params)
{
	size_t n = 0, at = 0;
	unsigned char *blob;

	if (!f->sizes)
		return copy_oracle_params(params);
	for (size_t i = 0; i < PARAMS && f->sizes[i]; i++)
		n += (f->sizes[i] + SLOT - 1) / SLOT * SLOT;
	blob = calloc(1, n + SLOT);
	for (size_t i = 0; blob && i < PARAMS && f->sizes[i]; i++) {
		memcpy(blob + at, params[i], f->sizes[i]);
		at += (f->sizes[i] + SLOT - 1) / SLOT * SLOT;
	}
	return blob;
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *c, CUfunction f, void **params, void **extra)
{
	struct fake_op op = { .kind = FAKE_KERNEL, .func = f, .config = *c };

	ENTER_CONTEXT();
	if (!f->module)
		return FAKE_ERROR_INVALID_HANDLE;
	if (extra || !c->grid_x || !c->grid_y || !c->grid_z || c->grid_y > 65535 || c->grid_z > 65535 ||
	    c->grid_x > 0x7fffffff || !c->block_x || (size_t)c->block_x * c->block_y * c->block_z > 1024 ||
	    c->shared > (unsigned)f->shared_max)
		return CUDA_ERROR_INVALID_VALUE;
	if (c->block_x * registers_of(f) > REGISTERS)
		return FAKE_ERROR_OUT_OF_RESOURCES;
	op.blob = copy_params(f, params);
	return op.blob ? fake_submit(c->stream, &op) : CUDA_ERROR_OUT_OF_MEMORY;
}

/* How long it takes, at the clock there is, at the place where it lies, this time. */
static double duration(const struct CUfunc_st *f, double ns)
{
	struct fake_state state;

	fake_state_at(fake_device.now, &state);
	if (state.sm_mhz > 0)
		ns *= (double)FAKE_SM_MHZ / (double)state.sm_mhz;
	ns *= 1 + f->module->bias + fake_number("FAKE_JITTER", 0) * fake_normal(&fake_device.rng);
	return ns > 0 ? ns : 0;
}

static void run_kernel(const struct fake_op *op)
{
	void *params[PARAMS];
	struct fake_launch l = { .params = params, .block = op->config.block_x, .shared = op->config.shared,
				 .grid = { op->config.grid_x, op->config.grid_y, op->config.grid_z } };
	fake_kernel *run;
	size_t at = 0;

	for (size_t i = 0; i < PARAMS && op->func->sizes[i]; i++) {
		params[i] = op->blob + at;
		at += (op->func->sizes[i] + SLOT - 1) / SLOT * SLOT;
	}
	memcpy(&run, &op->func->entry, sizeof(run));
	run(&l);
	tell_profiler(&op->config);
	fake_device.now += duration(op->func, l.ns);
	fake_device.fault = l.fault;
	fake_device.hangs = l.hangs;
}

void fake_run(const struct fake_op *op)
{
	void (*oracle)(const void *args, long long n);
	long long n;

	if (!op->func->module) {	/* unloaded since it was captured */
		fake_device.fault = CUDA_ERROR_ILLEGAL_ADDRESS;
	} else if (op->func->module->kernels) {
		run_kernel(op);
	} else {
		memcpy(&oracle, &op->func->entry, sizeof(oracle));
		memcpy(&n, op->blob + STRUCT_MAX, sizeof(n));
		oracle(op->blob, n);
	}
}
