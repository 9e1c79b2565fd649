/* Forked workers and their pipes. */
#include "worker.h"
#include "clock.h"
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct worker {
	int job;		/* -1: free */
	pid_t pid;
	int fd;
	double start;		/* NaN: the clock has not started */
	size_t seen;		/* of out: lines already reported */
};

/* A kernel can print: the driver writes what it prints to stdout, where records go. */
static void silence(void)
{
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	if (null < 0 || dup2(null, STDOUT_FILENO) < 0)
		_exit(1);
}

static int start(const struct workers *w, struct worker *k, int job, struct err *e)
{
	pid_t parent = getpid();
	int fd[2];

	if (pipe(fd))
		return err_set(e, "cannot make a pipe:");
	fflush(NULL);
	k->pid = fork();
	if (k->pid < 0) {
		close(fd[0]);
		close(fd[1]);
		return err_set(e, "cannot fork:");
	}
	if (!k->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
		close(fd[0]);
		signal(SIGINT, SIG_IGN);	/* the parent decides */
		silence();
		_exit(w->job(job, fd[1], w->ctx));
	}
	close(fd[1]);
	k->fd = fd[0];
	k->job = job;
	k->seen = 0;
	k->start = w->start_mark ? NAN : clock_now();
	return 0;
}

/* Reports whole lines, and starts the clock at the marked one. */
static void take_lines(const struct workers *w, struct worker *k, struct buf *out)
{
	char *nl;

	while (k->seen < out->len && (nl = memchr(out->data + k->seen, '\n', out->len - k->seen))) {
		char *line = out->data + k->seen;

		*nl = 0;
		if (isnan(k->start) && *line == w->start_mark)
			k->start = clock_now();
		if (w->line)
			w->line(k->job, line, w->ctx);
		*nl = '\n';
		k->seen = (size_t)(nl + 1 - out->data);
	}
}

static void finish(struct worker *k, struct worker_result *r, enum child_end end)
{
	int status = 0;

	if (end != CHILD_EXITED)
		kill(k->pid, SIGKILL);
	while (waitpid(k->pid, &status, 0) < 0 && errno == EINTR)
		;
	r->end = end == CHILD_EXITED && WIFSIGNALED(status) ? CHILD_SIGNALED : end;
	r->code = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
	r->seconds = isnan(k->start) ? 0 : clock_now() - k->start;
	close(k->fd);
	k->job = -1;
}

/* Reads what is there. True at the end of the stream. */
static bool read_some(const struct workers *w, struct worker *k, struct buf *out)
{
	char chunk[65536];
	ssize_t n = read(k->fd, chunk, sizeof(chunk));

	if (n < 0)
		return errno != EINTR && errno != EAGAIN;
	buf_add(out, chunk, (size_t)n);
	take_lines(w, k, out);
	return n == 0;
}

/* Waits until a worker says something or its time is over. */
static void serve(const struct workers *w, struct worker *k, struct worker_result *r)
{
	struct pollfd *p = xcalloc((size_t)w->width, sizeof(*p));
	double wait = 1;

	for (int i = 0; i < w->width; i++) {
		p[i] = (struct pollfd){ k[i].job < 0 ? -1 : k[i].fd, POLLIN, 0 };
		if (k[i].job >= 0 && !isnan(k[i].start))
			wait = fmin(wait, fmax(k[i].start + w->timeout - clock_now(), 0));
	}
	poll(p, (nfds_t)w->width, (int)ceil(wait * 1000));
	for (int i = 0; i < w->width; i++) {
		if (k[i].job < 0)
			continue;
		if (p[i].revents && read_some(w, &k[i], &r[k[i].job].out))
			finish(&k[i], &r[k[i].job], CHILD_EXITED);
		else if (!isnan(k[i].start) && clock_now() > k[i].start + w->timeout)
			finish(&k[i], &r[k[i].job], CHILD_TIMEOUT);
	}
	free(p);
}

int workers_run(const struct workers *w, struct worker_result *r, struct err *e)
{
	struct worker *k = xcalloc((size_t)w->width, sizeof(*k));
	int next = 0, running = 0, rc = 0;

	for (int i = 0; i < w->width; i++)
		k[i].job = -1;
	for (int i = 0; i < w->n; i++)
		r[i] = (struct worker_result){ .end = CHILD_NOT_STARTED };
	do {
		for (int i = 0; i < w->width && next < w->n && !rc; i++)
			if (k[i].job < 0)
				rc = start(w, &k[i], next++, e);
		if (!rc && child_interrupted)
			rc = err_set(e, "interrupted");
		if (!rc)
			serve(w, k, r);
		running = 0;
		for (int i = 0; i < w->width; i++) {
			if (rc && k[i].job >= 0)
				finish(&k[i], &r[k[i].job], CHILD_NOT_STARTED);
			running += k[i].job >= 0;
		}
	} while (running || (next < w->n && !rc));
	free(k);
	return rc;
}

void worker_result_release(struct worker_result *r)
{
	buf_release(&r->out);
}
