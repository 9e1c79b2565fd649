/* NVRTC through dlopen. Its builtins library has to be loaded before it, by path, or it is not found when the two lie
 * outside the loader's search path (as in a Python wheel). */
#include "nvrtc.h"
#include "file.h"
#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct nvrtc_program *nvrtcProgram;

static struct {
	void *lib;
	int (*version)(int *major, int *minor);
	int (*create)(nvrtcProgram *p, const char *src, const char *name, int n, const char *const *headers,
		      const char *const *names);
	int (*destroy)(nvrtcProgram *p);
	int (*compile)(nvrtcProgram p, int n, const char *const *options);
	int (*cubin_size)(nvrtcProgram p, size_t *n);
	int (*cubin)(nvrtcProgram p, char *out);
	int (*log_size)(nvrtcProgram p, size_t *n);
	int (*log)(nvrtcProgram p, char *out);
	const char *(*error)(int code);
} api;

/* Opens one candidate file, the builtins beside it first. */
static void *open_file(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *pattern;
	glob_t g;

	if (slash) {
		pattern = xasprintf("%.*s/libnvrtc-builtins.so.*", (int)(slash - path), path);
		if (!glob(pattern, 0, NULL, &g)) {
			for (size_t i = 0; i < g.gl_pathc; i++)
				dlopen(g.gl_pathv[i], RTLD_NOW | RTLD_GLOBAL);
			globfree(&g);
		}
		free(pattern);
	}
	return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

/* The last match of a pattern, which is the newest version. */
static void *open_glob(const char *pattern)
{
	void *lib = NULL;
	glob_t g;

	if (glob(pattern, 0, NULL, &g))
		return NULL;
	for (size_t i = g.gl_pathc; i-- > 0 && !lib;)
		lib = open_file(g.gl_pathv[i]);
	globfree(&g);
	return lib;
}

static void *find(void)
{
	static const char *const system_names[] = { "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so" };
	const char *named = getenv("D2K_NVRTC"), *python = file_python(), *bin = strrchr(python, '/');
	void *lib = NULL;
	char *pattern;

	if (named && *named) {
		lib = open_file(named);
		pattern = xasprintf("%s/libnvrtc.so.[0-9]*", named);
		if (!lib)
			lib = open_glob(pattern);
		free(pattern);
		return lib;
	}
	if (bin) {	/* PREFIX/bin/python3 */
		pattern = xasprintf("%.*s/../lib/python3*/site-packages/nvidia/*/lib/libnvrtc.so.[0-9]*",
				    (int)(bin - python), python);
		lib = open_glob(pattern);
		free(pattern);
	}
	for (size_t i = 0; i < sizeof(system_names) / sizeof(*system_names) && !lib; i++)
		lib = dlopen(system_names[i], RTLD_NOW | RTLD_LOCAL);
	return lib ? lib : open_glob("/usr/local/cuda*/lib64/libnvrtc.so.[0-9]*");
}

int nvrtc_load(char version[16], struct err *e)
{
	static const struct { const char *name; void *slot; } symbols[] = {
		{ "nvrtcVersion", &api.version }, { "nvrtcCreateProgram", &api.create },
		{ "nvrtcDestroyProgram", &api.destroy }, { "nvrtcCompileProgram", &api.compile },
		{ "nvrtcGetCUBINSize", &api.cubin_size }, { "nvrtcGetCUBIN", &api.cubin },
		{ "nvrtcGetProgramLogSize", &api.log_size }, { "nvrtcGetProgramLog", &api.log },
		{ "nvrtcGetErrorString", &api.error },
	};
	int major, minor;

	if (!api.lib) {
		void *lib = find();

		if (!lib)
			return err_set(e, "cannot find libnvrtc (set D2K_NVRTC to the file or its folder)");
		for (size_t i = 0; i < sizeof(symbols) / sizeof(*symbols); i++) {
			void *p = dlsym(lib, symbols[i].name);

			if (!p)
				return err_set(e, "libnvrtc lacks %s", symbols[i].name);
			memcpy(symbols[i].slot, &p, sizeof(p));
		}
		api.lib = lib;
	}
	if (api.version(&major, &minor))
		return err_set(e, "libnvrtc does not tell its version");
	if (version)
		snprintf(version, 16, "%d.%d", major, minor);
	return 0;
}

/* Into e: the log's first line with "error" in it, else its first line; without a log what is there already. */
static void first_error(nvrtcProgram p, struct err *e)
{
	char *log = NULL, *line, *end;
	size_t n;

	if (api.log_size(p, &n) || !n)
		return;
	log = xcalloc(n + 1, 1);
	if (!api.log(p, log) && *log) {
		line = strstr(log, "error");
		while (line && line > log && line[-1] != '\n')
			line--;
		line = line ? line : log;
		end = strchr(line, '\n');
		err_set(e, "%.*s", (int)(end ? (size_t)(end - line) : strlen(line)), line);
	}
	free(log);
}

int nvrtc_compile(const char *source, const char *arch, struct buf *cubin, struct err *e)
{
	char *arch_option = xasprintf("--gpu-architecture=%s", arch);
	const char *options[] = { arch_option, "--fmad=false", "--std=c++17", "--device-as-default-execution-space" };
	nvrtcProgram p = NULL;
	int code, rc = -1;
	size_t n;

	if (nvrtc_load(NULL, e))
		goto out;
	code = api.create(&p, source, "oracle.cu", 0, NULL, NULL);
	if (code) {
		err_set(e, "nvrtc: %s", api.error(code));
		goto out;
	}
	code = api.compile(p, sizeof(options) / sizeof(*options), options);
	if (code) {
		err_set(e, "nvrtc: %s", api.error(code));
		first_error(p, e);
		goto out;
	}
	if (api.cubin_size(p, &n) || !n) {
		err_set(e, "nvrtc made no cubin for %s", arch);
		goto out;
	}
	buf_reserve(cubin, n + 1);
	if (api.cubin(p, cubin->data + cubin->len)) {
		err_set(e, "nvrtc: cannot read the cubin");
		goto out;
	}
	cubin->len += n;
	cubin->data[cubin->len] = 0;
	rc = 0;
out:
	if (p)
		api.destroy(&p);
	free(arch_option);
	return rc;
}
