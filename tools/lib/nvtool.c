/* Looking for programs. */
#include "nvtool.h"
#include "file.h"
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
	const char *name, *variable;
	const char *folders[5];		/* patterns; the last match of each is the newest version */
} tools[] = {
	[NVTOOL_NVDISASM] = { "nvdisasm", "D2K_NVDISASM", { "/usr/local/cuda/bin", "/usr/local/cuda-*/bin" } },
	[NVTOOL_NCU] = { "ncu", "D2K_NCU", { "/usr/local/cuda/bin", "/usr/local/cuda-*/bin",
					      "/opt/nvidia/nsight-compute/*" } },
	[NVTOOL_SANITIZER] = { "compute-sanitizer", "D2K_SANITIZER",
			       { "/usr/local/cuda/bin", "/usr/local/cuda/compute-sanitizer", "/usr/local/cuda-*/bin",
				 "/usr/local/cuda-*/compute-sanitizer" } },
};

/* Frees the path and returns NULL unless a program lies there. */
static char *if_program(char *path)
{
	struct stat st;

	if (!stat(path, &st) && S_ISREG(st.st_mode) && !access(path, X_OK))
		return path;
	free(path);
	return NULL;
}

static char *in_folder(const char *folder, size_t n, const char *name)
{
	return if_program(xasprintf("%.*s/%s", (int)n, folder, name));
}

static char *by_glob(const char *folder, const char *name)
{
	char *pattern = xasprintf("%s/%s", folder, name), *path = NULL;
	glob_t g;

	if (!glob(pattern, 0, NULL, &g)) {
		for (size_t i = g.gl_pathc; i-- > 0 && !path;)
			path = if_program(xstrdup(g.gl_pathv[i]));
		globfree(&g);
	}
	free(pattern);
	return path;
}

/* Where the Triton wheel keeps what it carries of the toolkit. */
static char *in_python(const char *name)
{
	const char *python = file_python(), *bin = strrchr(python, '/');
	char *folder, *path;

	if (!bin)
		return NULL;
	folder = xasprintf("%.*s/../lib/python3*/site-packages/triton/backends/nvidia/bin", (int)(bin - python), python);
	path = by_glob(folder, name);
	free(folder);
	return path;
}

static char *in_path(const char *name)
{
	const char *p = getenv("PATH");
	char *path = NULL;
	size_t n;

	for (; p && *p && !path; p += n + (p[n] == ':')) {
		n = strcspn(p, ":");
		if (*p == '/')
			path = in_folder(p, n, name);
	}
	return path;
}

char *nvtool_find(enum nvtool tool, struct err *e)
{
	const char *name = tools[tool].name, *named = getenv(tools[tool].variable);
	char *path;

	if (named && *named) {
		path = if_program(xstrdup(named));
		if (!path)
			path = in_folder(named, strlen(named), name);
		if (!path)
			err_set(e, "$%s is '%s', where there is no %s", tools[tool].variable, named, name);
		return path;
	}
	path = in_python(name);
	if (!path)
		path = in_path(name);
	for (size_t i = 0; !path && tools[tool].folders[i]; i++)
		path = by_glob(tools[tool].folders[i], name);
	if (!path)
		err_set(e, "%s was not found (PATH, /usr/local/cuda, $%s)", name, tools[tool].variable);
	return path;
}
