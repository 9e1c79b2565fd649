/* The fake NVRTC: cc compiles the source for the host, as which an oracle compiles as well. */
#include "world.h"
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct nvrtc_program {
	char *source, *log, *code;
	size_t code_size;
} *nvrtcProgram;

int nvrtcVersion(int *major, int *minor);
int nvrtcCreateProgram(nvrtcProgram *p, const char *source, const char *name, int n, const char *const *headers,
		       const char *const *names);
int nvrtcDestroyProgram(nvrtcProgram *p);
int nvrtcCompileProgram(nvrtcProgram p, int n, const char *const *options);
int nvrtcGetCUBINSize(nvrtcProgram p, size_t *n);
int nvrtcGetCUBIN(nvrtcProgram p, char *out);
int nvrtcGetProgramLogSize(nvrtcProgram p, size_t *n);
int nvrtcGetProgramLog(nvrtcProgram p, char *out);
const char *nvrtcGetErrorString(int code);

enum { SUCCESS = 0, OUT_OF_MEMORY = 1, COMPILATION = 6 };

extern char **environ;

/* No real version: what is made here must not be taken from a store for a GPU's code. */
int nvrtcVersion(int *major, int *minor)
{
	*major = 99;
	*minor = 0;
	return SUCCESS;
}

int nvrtcCreateProgram(nvrtcProgram *p, const char *source, const char *name, int n, const char *const *headers,
		       const char *const *names)
{
	(void)name, (void)n, (void)headers, (void)names;
	*p = calloc(1, sizeof(**p));
	if (!*p)
		return OUT_OF_MEMORY;
	(*p)->source = strdup(source);
	return (*p)->source ? SUCCESS : OUT_OF_MEMORY;
}

int nvrtcDestroyProgram(nvrtcProgram *p)
{
	free((*p)->source);
	free((*p)->log);
	free((*p)->code);
	free(*p);
	*p = NULL;
	return SUCCESS;
}

/* Malloced, with a NUL behind it; NULL: not there. */
static char *read_file(const char *path, size_t *n)
{
	FILE *f = fopen(path, "rb");
	struct stat st;
	char *text = NULL;

	if (f && !fstat(fileno(f), &st) && (text = calloc(1, (size_t)st.st_size + 1)))
		*n = fread(text, 1, (size_t)st.st_size, f);
	if (f)
		fclose(f);
	return text;
}

static int run_cc(const char *source, const char *code, const char *log)
{
	const char *cc = *fake_text("CC") ? fake_text("CC") : "cc";
	const char *argv[] = { cc, "-std=gnu17", "-O2", "-ffp-contract=off", "-fPIC", "-shared", "-w", "-x", "c", source,
			       "-lm", "-o", code, NULL };
	posix_spawn_file_actions_t io;
	int status = -1;
	pid_t pid;

	posix_spawn_file_actions_init(&io);
	posix_spawn_file_actions_addopen(&io, 2, log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (!posix_spawnp(&pid, cc, &io, NULL, (char *const *)(void *)argv, environ))
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
	posix_spawn_file_actions_destroy(&io);
	return status;
}

/* What only CUDA understands is compiled from the C file that the test names. */
static int write_source(nvrtcProgram p, const char *path)
{
	const char *other = strstr(p->source, "__CUDACC__") ? "" : fake_text("FAKE_SOURCE");
	FILE *f = fopen(path, "w");

	if (!f)
		return -1;
	if (*other)
		fprintf(f, "#include \"%s\"\n", other);
	else
		fputs(p->source, f);
	return fclose(f);
}

int nvrtcCompileProgram(nvrtcProgram p, int n, const char *const *options)
{
	char dir[4096], path[3][4200];
	const char *tmp = *fake_text("TMPDIR") ? fake_text("TMPDIR") : "/tmp";
	int rc = COMPILATION;
	size_t size;

	(void)n, (void)options;
	snprintf(dir, sizeof(dir), "%s/d2k-fake-nvrtc.XXXXXX", tmp);
	if (!mkdtemp(dir))
		return COMPILATION;
	for (int i = 0; i < 3; i++)
		snprintf(path[i], sizeof(path[i]), "%s/%s", dir, (const char *const[]){ "source.c", "code.so", "log" }[i]);
	if (!write_source(p, path[0]) && !run_cc(path[0], path[1], path[2]) &&
	    (p->code = read_file(path[1], &p->code_size)))
		rc = SUCCESS;
	p->log = read_file(path[2], &size);
	for (int i = 0; i < 3; i++)
		unlink(path[i]);
	rmdir(dir);
	return rc;
}

int nvrtcGetCUBINSize(nvrtcProgram p, size_t *n)
{
	*n = p->code_size;
	return SUCCESS;
}

int nvrtcGetCUBIN(nvrtcProgram p, char *out)
{
	memcpy(out, p->code, p->code_size);
	return SUCCESS;
}

int nvrtcGetProgramLogSize(nvrtcProgram p, size_t *n)
{
	*n = p->log ? strlen(p->log) + 1 : 0;
	return SUCCESS;
}

int nvrtcGetProgramLog(nvrtcProgram p, char *out)
{
	memcpy(out, p->log, strlen(p->log) + 1);
	return SUCCESS;
}

const char *nvrtcGetErrorString(int code)
{
	return code == SUCCESS ? "success" : code == OUT_OF_MEMORY ? "out of memory" : "it does not compile";
}
