/* The two engines. The host's shared object exports each kernel as a function of (argument struct, n). */
#include "engine.h"
#include "child.h"
#include "file.h"
#include "gpu.h"
#include "hash.h"
#include "nvrtc.h"
#include "store.h"
#include "../oracle/oracle.h"
#include "../oracle/kernels.h"
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { KERNELS = 64, BLOCK = 256 };

struct engine {
	struct gpu *gpu;	/* NULL: host */
	void *code;		/* dlopen handle or module */
	struct kernel {
		char *name;
		void *entry;
	} kernel[KERNELS];
	int nkernels;
	struct block {
		uint64_t p;
		size_t n;
	} *block;		/* host allocations */
	size_t nblocks, cap;
};

static const char *compiler(void)
{
	const char *cc = getenv("CC");

	return cc && *cc ? cc : "cc";
}

/* Runs cc; its version text when source is NULL, else compiles source to `path`. */
static int run_cc(const char *const *args, const struct buf *source, struct buf *out, struct err *e)
{
	struct argv argv = { 0 };
	struct child c = { .timeout = 120, .max_output = 1 << 16 };
	struct child_result r = { 0 };
	int rc = 0;

	argv_add(&argv, compiler());
	for (; *args; args++)
		argv_add(&argv, *args);
	c.argv = argv.v;
	if (source) {
		c.input = source->data;
		c.input_len = source->len;
	}
	if (child_run(&c, &r, e)) {
		rc = -1;
	} else if (r.end != CHILD_EXITED || r.code) {
		const char *why = r.err.len ? r.err.data : "no message", *error = strstr(why, "error:");

		rc = err_set(e, "%s: %.400s", compiler(), error ? error : why);
	}
	if (out)
		buf_addbuf(out, rc ? &r.err : &r.out);
	child_result_release(&r);
	argv_release(&argv);
	return rc;
}

/* The store key of compiled code: source, target, compiler. */
static void code_key(const struct buf *source, const char *target, const char *version, char key[HASH_HEX])
{
	struct hash_parts h = { BUF_INIT };

	hash_part(&h, "source", source->data, source->len);
	hash_partstr(&h, "target", target);
	hash_partstr(&h, "compiler", version);
	hash_done(&h, key);
}

int engine_cubin(const struct buf *source, const char *arch, struct buf *cubin, struct err *e)
{
	char version[16], key[HASH_HEX], *target = NULL;
	struct err ignored;
	int rc;

	if (nvrtc_load(version, e))
		return -1;
	target = xasprintf("nvrtc %s", arch);
	code_key(source, target, version, key);
	free(target);
	rc = store_get("oracle", key, cubin, &ignored);
	if (rc == 1)
		return 0;
	if (nvrtc_compile(source->data, arch, cubin, e))
		return -1;
	/* a cache: failing to write it costs time only */
	store_put_as("oracle", key, cubin->data, cubin->len, &ignored);
	return 0;
}

/* Compiles into the store and returns the file's path, or NULL. */
static char *host_code(const struct buf *source, struct err *e)
{
	static const char *const ask[] = { "--version", NULL };
	char dir[] = "/tmp/d2k-oracle.XXXXXX", key[HASH_HEX], *so = NULL, *path = NULL;
	struct buf version = BUF_INIT, code = BUF_INIT;
	const char *compile[] = { "-std=gnu17", "-O3", "-ffp-contract=off", "-fopenmp", "-fPIC", "-shared", "-w",
				  "-x", "c", "-", "-lm", "-o", NULL, NULL };

	if (run_cc(ask, NULL, &version, e))
		goto out;
	code_key(source, "host", version.data, key);
	path = store_path("oracle", key);
	if (file_exists(path))
		goto out;
	free(path);
	path = NULL;
	if (!mkdtemp(dir)) {
		err_set(e, "cannot make '%s':", dir);
		goto out;
	}
	so = xasprintf("%s/oracle.so", dir);
	compile[sizeof(compile) / sizeof(*compile) - 2] = so;
	if (!run_cc(compile, source, NULL, e) && !file_read(so, &code, e) &&
	    !store_put_as("oracle", key, code.data, code.len, e))
		path = store_path("oracle", key);
	unlink(so);
	rmdir(dir);
out:
	free(so);
	buf_release(&version);
	buf_release(&code);
	return path;
}

struct engine *engine_host(const struct buf *source, struct err *e)
{
	struct engine *x;
	char *path = host_code(source, e), *absolute;
	void *code;

	if (!path)
		return NULL;
	absolute = realpath(path, NULL);
	/* never unloaded: OpenMP's idle threads would be left without their code */
	code = dlopen(absolute ? absolute : path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	free(absolute);
	free(path);
	if (!code) {
		err_set(e, "cannot load the oracle: %s", dlerror());
		return NULL;
	}
	x = xcalloc(1, sizeof(*x));
	x->code = code;
	return x;
}

struct engine *engine_gpu(struct gpu *g, const struct buf *source, struct err *e)
{
	struct buf cubin = BUF_INIT;
	struct engine *x = NULL;
	char arch[16];
	void *code;

	gpu_arch(g, arch);
	if (!engine_cubin(source, arch, &cubin, e) && (code = gpu_module(g, cubin.data, e))) {
		x = xcalloc(1, sizeof(*x));
		x->gpu = g;
		x->code = code;
	}
	buf_release(&cubin);
	return x;
}

void engine_close(struct engine *x)
{
	if (!x)
		return;
	for (size_t i = 0; i < x->nblocks; i++)
		munmap((void *)x->block[i].p, x->block[i].n);
	for (int i = 0; i < x->nkernels; i++)
		free(x->kernel[i].name);
	if (x->gpu)
		gpu_module_free(x->gpu, x->code);
	else
		dlclose(x->code);
	free(x->block);
	free(x);
}

bool engine_on_gpu(const struct engine *x)
{
	return x->gpu != NULL;
}

int engine_alloc(struct engine *x, size_t n, uint64_t *p, struct err *e)
{
	void *m;

	*p = 0;
	n = (n + 4095) / 4096 * 4096 + 4096;	/* never empty, always whole pages */
	if (x->gpu)
		return gpu_alloc(x->gpu, n, p, e);
	m = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (m == MAP_FAILED)
		return err_set(e, "cannot allocate %zu bytes:", n);
	x->block = xgrow(x->block, &x->cap, x->nblocks + 1, sizeof(*x->block));
	x->block[x->nblocks++] = (struct block){ (uint64_t)(uintptr_t)m, n };
	*p = (uint64_t)(uintptr_t)m;
	return 0;
}

void engine_free(struct engine *x, uint64_t p)
{
	if (!p)
		return;
	if (x->gpu) {
		gpu_free(x->gpu, p);
		return;
	}
	for (size_t i = 0; i < x->nblocks; i++)
		if (x->block[i].p == p) {
			munmap((void *)(uintptr_t)p, x->block[i].n);
			x->block[i] = x->block[--x->nblocks];
			return;
		}
}

/* The kernel's entry, looked up once. */
static void *find(struct engine *x, const char *name, struct err *e)
{
	void *entry;

	for (int i = 0; i < x->nkernels; i++)
		if (!strcmp(x->kernel[i].name, name))
			return x->kernel[i].entry;
	entry = x->gpu ? gpu_function(x->gpu, x->code, name, e) : dlsym(x->code, name);
	if (!entry) {
		if (!x->gpu)
			err_set(e, "the oracle has no kernel '%s'", name);
		return NULL;
	}
	if (x->nkernels < KERNELS)
		x->kernel[x->nkernels++] = (struct kernel){ xstrdup(name), entry };
	return entry;
}

static int launch(struct engine *x, const char *name, const void *args, long long n, const unsigned grid[3],
		  unsigned block, struct err *e)
{
	void *entry = find(x, name, e), *params[2] = { (void *)(uintptr_t)args, &n };
	struct gpu_launch l = { .params = params, .block = block };

	if (!entry)
		return -1;
	if (!x->gpu) {
		void (*run)(const void *, long long);

		memcpy(&run, &entry, sizeof(run));
		run(args, n);
		return 0;
	}
	l.func = entry;
	memcpy(l.grid, grid, sizeof(l.grid));
	return gpu_launch(x->gpu, &l, e);
}

int engine_run(struct engine *x, const char *kernel, const void *args, long long n, struct err *e)
{
	/* few indices: small blocks, so that they spread over all multiprocessors */
	unsigned block = n < 132LL * 128 ? 32 : 128, grid[3] = { 1, 1, 1 };
	long long blocks = (n + block - 1) / block;

	if (n <= 0)
		return 0;
	grid[0] = (unsigned)(blocks < 132 * 64 ? blocks : 132 * 64);
	return launch(x, kernel, args, n, grid, block, e);
}

int engine_run_grid(struct engine *x, const char *kernel, const void *args, const unsigned grid[3], struct err *e)
{
	return launch(x, kernel, args, 0, grid, BLOCK, e);
}

int engine_scrub(struct engine *x, uint64_t seed, struct err *e)
{
	struct words w = { .seed = seed };
	const struct gpu_info *info = x->gpu ? gpu_info(x->gpu) : NULL;
	long long n = info ? info->shared_max / 8 : 0;
	void *params[2] = { &w, &n };
	struct gpu_launch l = { .params = params, .block = 1024, .shared = (unsigned)n * 8 };

	if (!info)
		return 0;
	l.func = find(x, "scrub", e);
	l.grid[0] = (unsigned)info->sm_count;
	l.grid[1] = l.grid[2] = 1;
	return !l.func || gpu_function_allow(x->gpu, l.func, l.shared, 1, e) || gpu_launch(x->gpu, &l, e) ? -1 : 0;
}

int engine_read(struct engine *x, void *to, uint64_t from, size_t n, struct err *e)
{
	if (x->gpu)
		return gpu_read(x->gpu, to, from, n, e);
	memcpy(to, (const void *)(uintptr_t)from, n);
	return 0;
}

int engine_write(struct engine *x, uint64_t to, const void *from, size_t n, struct err *e)
{
	if (x->gpu)
		return gpu_write(x->gpu, to, from, n, e);
	memcpy((void *)(uintptr_t)to, from, n);
	return 0;
}

int engine_fill(struct engine *x, uint64_t p, uint8_t value, size_t n, struct err *e)
{
	if (x->gpu)
		return gpu_fill(x->gpu, p, value, n, e);
	memset((void *)(uintptr_t)p, value, n);
	return 0;
}
