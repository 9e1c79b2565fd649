/* The folder an agent works in. Files are reached from C through openat2() beneath the folder's own descriptor, never
 * through a link, so no path the model writes (nor a link its shell made) leads outside; commands run in the sandbox,
 * which shows the folder as /agent and nothing else of the machine's files. Paths are relative to the folder;
 * "/agent/x" is understood as "x". */
#ifndef WORKSPACE_H
#define WORKSPACE_H
#include "buf.h"
#include "die.h"
#include <stdbool.h>
#include <stddef.h>

enum { WORKSPACE_FILE_MAX = 16 << 20 };
/* Where commands see the folder; a name that the Python environment, bound at its own path, will not lie under. */
#define WORKSPACE_MOUNT "/agent"

struct workspace {
	int fd;
	char *path;			/* on this machine, absolute */
};

/* Makes the folder where it is missing. */
int workspace_open(struct workspace *w, const char *path, struct err *e);
void workspace_release(struct workspace *w);

/* Whole files, byte for byte. Parent folders are made; a file is replaced by rename. */
int workspace_read(const struct workspace *w, const char *path, struct buf *out, struct err *e);
int workspace_write(const struct workspace *w, const char *path, const void *data, size_t n, struct err *e);
/* Replaces `old`, which must occur exactly once unless all; every other byte stays. Returns how often, or -1. */
int workspace_edit(const struct workspace *w, const char *path, const char *old, const char *new, bool all,
		   struct err *e);
/* One line per entry, sorted: "name/" or "name  bytes". */
int workspace_list(const struct workspace *w, const char *path, struct buf *out, struct err *e);
/* Runs a bash command line in the sandbox; out gets how it ended and what it printed, clipped. 0 whatever the command's
 * exit code; -1 when it could not be run. */
int workspace_shell(const struct workspace *w, const char *command, double timeout, struct buf *out, struct err *e);
#endif
