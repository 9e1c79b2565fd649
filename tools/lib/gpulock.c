/* Locks by flock(), which belong to an open file and so are shared with forked processes. */
#include "gpulock.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

int gpulock_open(struct gpulock *l, const char *uuid, struct err *e)
{
	const char *dir = getenv("D2K_LOCKS");

	l->path = xasprintf("%s/d2k-gpu-%s.lock", dir && *dir ? dir : "/tmp", uuid);
	l->fd = open(l->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	/* O_CREAT on another user's file would be refused in a sticky folder */
	if (l->fd < 0) {
		l->fd = open(l->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_CREAT, 0666);
		if (l->fd >= 0)
			fchmod(l->fd, 0666);	/* whatever the umask: the next user needs it too */
	}
	return l->fd < 0 ? err_set(e, "cannot open '%s':", l->path) : 0;
}

void gpulock_close(struct gpulock *l)
{
	if (l->fd >= 0)
		close(l->fd);
	free(l->path);
	*l = (struct gpulock){ NULL, -1 };
}

/* flock(), however many signals arrive. */
static int lock(int fd, int how)
{
	int rc;

	while ((rc = flock(fd, how)) && errno == EINTR)
		;
	return rc;
}

/* Now that we have it. The old text is written over before it is cut, so that a reader never finds nothing. */
static int sign(const struct gpulock *l, struct err *e)
{
	char text[32];
	int n = snprintf(text, sizeof(text), "%ld\n", (long)getpid());

	if (pwrite(l->fd, text, (size_t)n, 0) != n || ftruncate(l->fd, n))
		return err_set(e, "cannot write '%s':", l->path);
	return 0;
}

int gpulock_try(struct gpulock *l, struct err *e)
{
	if (!lock(l->fd, LOCK_EX | LOCK_NB))
		return sign(l, e);
	return errno == EWOULDBLOCK ? 1 : err_set(e, "cannot lock '%s':", l->path);
}

pid_t gpulock_holder(const struct gpulock *l)
{
	char text[32] = "", *end;
	long pid;

	if (pread(l->fd, text, sizeof(text) - 1, 0) <= 0)
		return 0;
	pid = strtol(text, &end, 10);
	return *end == '\n' && pid > 0 ? (pid_t)pid : 0;
}

/* ---- waiting: a process for each lock stands in line for it, and the first to get it says so */

static pid_t stand_in_line(int fd, unsigned char number, int out)
{
	pid_t parent = getpid(), pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() == parent && !lock(fd, LOCK_EX))
		(void)!write(out, &number, 1);
	_exit(0);
}

/* Ends the process that stood in line, and lets go of a lock it got too late. */
static void leave_line(pid_t pid, const struct gpulock *l, bool keep)
{
	if (pid <= 0)
		return;
	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (!keep)
		lock(l->fd, LOCK_UN);
}

int gpulock_wait(struct gpulock *l, int n, struct err *e)
{
	pid_t *pid = xcalloc((size_t)n + 1, sizeof(*pid));
	unsigned char first = 255;
	int fd[2], got = -1;
	ssize_t r;

	if (pipe2(fd, O_CLOEXEC)) {
		free(pid);
		return err_set(e, "cannot make a pipe:");
	}
	for (int i = 0; i < n && i < 255; i++)
		pid[i] = stand_in_line(l[i].fd, (unsigned char)i, fd[1]);
	close(fd[1]);
	while ((r = read(fd[0], &first, 1)) < 0 && errno == EINTR)
		;
	close(fd[0]);
	if (r == 1)
		got = first;
	else
		err_set(e, "cannot wait for '%s'", l[0].path);
	for (int i = 0; i < n && i < 255; i++)
		leave_line(pid[i], &l[i], i == got);
	free(pid);
	return got < 0 || sign(&l[got], e) ? -1 : got;
}
