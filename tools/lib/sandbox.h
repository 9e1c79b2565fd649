/* The bubblewrap command line around an untrusted program: no network, private PID/IPC/UTS/user namespaces, a read-only
 * system, an empty environment, a private /tmp, resource limits (through prlimit). Nothing of the project is
 * visible except what is bound by name. Started by root, the program runs as a user of its own, to whom the folders
 * bound for writing are given (chown); otherwise as the caller, inside a user namespace. */
#ifndef SANDBOX_H
#define SANDBOX_H
#include "child.h"
#include "die.h"
#include <stddef.h>

struct sandbox {
	struct argv binds;		/* triples: "--ro-bind"|"--bind", from, to */
	struct argv env;		/* "NAME=value" */
	const char *cwd;		/* inside */
	size_t memory;			/* bytes of address space (0: no limit) */
	int processes;			/* 0: no limit */
	size_t file_size;		/* largest file, bytes (0: no limit) */
	double cpu;			/* CPU seconds (0: no limit) */
};

void sandbox_ro(struct sandbox *s, const char *from, const char *to);
void sandbox_rw(struct sandbox *s, const char *from, const char *to);
void sandbox_env(struct sandbox *s, const char *name, const char *value);
/* Binds the private Python environment and its interpreter's files read-only, at their own paths. */
int sandbox_python(struct sandbox *s, struct err *e);
/* Appends the whole command line (env, bwrap, options, prlimit, "--"); the caller appends the program. */
int sandbox_command(const struct sandbox *s, struct argv *out, struct err *e);
void sandbox_release(struct sandbox *s);
/* 0 when bubblewrap works here; else -1 with the reason (missing, user namespaces forbidden, ...). Tested once. */
int sandbox_works(struct err *e);
#endif
