/* Locks by flock(), which go away with their process however it ends. */
#include "gpulock.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static int take(int fd, bool wait, const char *path, struct err *e)
{
	int rc;

	while ((rc = flock(fd, wait ? LOCK_EX : LOCK_EX | LOCK_NB)) && errno == EINTR)
		;
	if (rc && errno == EWOULDBLOCK)
		return 1;
	if (rc)
		return err_set(e, "cannot lock '%s':", path);
	if (ftruncate(fd, 0) || dprintf(fd, "%ld\n", (long)getpid()) < 0)
		return err_set(e, "cannot write '%s':", path);
	return 0;
}

int gpulock_take(const char *uuid, bool wait, struct err *e)
{
	char *path = xasprintf("/tmp/d2k-gpu-%s.lock", uuid);
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW), rc;

	/* O_CREAT on another user's file would be refused in a sticky folder */
	if (fd < 0) {
		fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_CREAT, 0666);
		if (fd >= 0)
			fchmod(fd, 0666);	/* whatever the umask: the next user needs it too */
	}
	rc = fd < 0 ? err_set(e, "cannot open '%s':", path) : take(fd, wait, path, e);
	if (rc && fd >= 0)
		close(fd);
	free(path);
	return rc;
}
