/* Running another program in a process group of its own, with its input, outputs, time and end under control. */
#include "child.h"
#include "clock.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

const char *const child_end_name[] = {
	[CHILD_EXITED] = "exited",
	[CHILD_SIGNALED] = "signaled",
	[CHILD_TIMEOUT] = "timeout",
	[CHILD_NOT_STARTED] = "not started",
};

volatile int child_interrupted;

#define INSIST 1	/* seconds between two interrupts that are not one */
enum {
	FIRST_FREE = 16,	/* descriptors are moved here before they take their places 0 to 4 */
	LAST_PLACE = 4,
	PIPE_CHUNKS = 16,	/* of 64 KiB: the most a pipe of an unprivileged user holds */
	BLIND_MS = 20		/* how often to look for the end where pidfd_open() is missing */
};

/* One end is ours. in: we write; the others: we read. */
struct pipe_end {
	int ours, theirs;
};

struct running {
	const struct child *c;
	struct child_result *r;
	pid_t pid;
	int pidfd;		/* -1: unknown to this kernel */
	struct pipe_end in, out, err, result;
	size_t written;		/* of c->input */
	double start;
	sigset_t before;	/* the caller's signal mask */
};

void argv_add(struct argv *a, const char *s)
{
	a->v = xgrow(a->v, &a->cap, a->n + 2, sizeof *a->v);
	a->v[a->n++] = xstrdup(s);
	a->v[a->n] = NULL;
}

void argv_addf(struct argv *a, const char *fmt, ...)
{
	va_list args;
	char *s;

	va_start(args, fmt);
	s = xvasprintf(fmt, args);
	va_end(args);
	argv_add(a, s);
	free(s);
}

void argv_release(struct argv *a)
{
	for (size_t i = 0; i < a->n; i++)
		free(a->v[i]);
	free(a->v);
	*a = (struct argv){ 0 };
}

/* Some senders signal twice at once (timeout(1): the process, then its group); only one that comes later is meant to
 * end us whatever we are doing. */
static void on_interrupt(int sig)
{
	static double first;

	if (!child_interrupted) {
		child_interrupted = 1;
		first = clock_now();
	} else if (clock_now() > first + INSIST) {
		signal(sig, SIG_DFL);
		raise(sig);
	}
}

void child_catch_interrupts(void)
{
	struct sigaction act = { .sa_handler = on_interrupt };

	sigemptyset(&act.sa_mask);
	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static int open_pipe(struct pipe_end *p, bool we_write)
{
	int fd[2];

	if (pipe2(fd, O_CLOEXEC))
		return -1;
	p->ours = fd[we_write];
	p->theirs = fd[!we_write];
	return fcntl(p->ours, F_SETFL, O_NONBLOCK);
}

/* In the child from here to start_program(): system calls only, the parent may have threads. */

static void move_up(int *fd)
{
	if (*fd >= 0)
		*fd = fcntl(*fd, F_DUPFD_CLOEXEC, FIRST_FREE);
}

static void take_place(int fd, int place)
{
	if (fd >= 0)
		dup2(fd, place);
	else if (place > STDERR_FILENO)
		close(place);
}

static void close_others(void)
{
	if (syscall(SYS_close_range, LAST_PLACE + 1, ~0U, 4 /* CLOSE_RANGE_CLOEXEC */) == 0)
		return;
	for (int fd = LAST_PLACE + 1; fd < 4096; fd++)
		fcntl(fd, F_SETFD, FD_CLOEXEC);
}

static _Noreturn void start_program(struct running *k, int report, pid_t parent)
{
	int in = k->in.theirs, out = k->out.theirs, err = k->err.theirs, result = k->result.theirs;
	int pass = k->c->pass_fd > 0 ? k->c->pass_fd : -1, why;
	struct sigaction normal = { .sa_handler = SIG_DFL };

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(127);
	if (in < 0)
		in = open("/dev/null", O_RDONLY | O_CLOEXEC);
	move_up(&report);
	move_up(&in);
	move_up(&out);
	move_up(&err);
	move_up(&result);
	move_up(&pass);
	take_place(in, STDIN_FILENO);
	take_place(out, STDOUT_FILENO);
	take_place(err, STDERR_FILENO);
	take_place(result, 3);
	take_place(pass, LAST_PLACE);
	close_others();
	sigaction(SIGPIPE, &normal, NULL);
	sigprocmask(SIG_SETMASK, &k->before, NULL);
	execvpe(k->c->argv[0], k->c->argv, k->c->env ? k->c->env : environ);
	why = errno;
	while (write(report, &why, sizeof why) < 0 && errno == EINTR)
		;
	_exit(127);
}

/* Forks, and waits until the program runs or could not be started. */
static int start(struct running *k, struct err *e)
{
	int report[2], why = 0;
	pid_t parent = getpid();
	ssize_t n;

	if (pipe2(report, O_CLOEXEC))
		return err_set(e, "cannot make a pipe:");
	k->pid = fork();
	if (k->pid == 0)
		start_program(k, report[1], parent);
	close(report[1]);
	if (k->pid < 0) {
		close(report[0]);
		return err_set(e, "cannot start a process:");
	}
	setpgid(k->pid, k->pid);
	do
		n = read(report[0], &why, sizeof why);
	while (n < 0 && errno == EINTR);
	close(report[0]);
	if (n == 0)
		return 0;
	while (waitpid(k->pid, NULL, 0) < 0 && errno == EINTR)
		;
	errno = why;
	return err_set(e, "cannot run '%s':", k->c->argv[0]);
}

/* Reads what is there, but no more than a pipe can hold, so that a flood does not keep us from looking at the clock;
 * closes at the end of file. What goes over the limit is read and dropped. */
static void take(struct running *k, int *fd, struct buf *b)
{
	char chunk[65536];
	size_t room;
	ssize_t n = 1;

	for (int i = 0; i < PIPE_CHUNKS && (n = read(*fd, chunk, sizeof chunk)) > 0; i++) {
		room = k->c->max_output - b->len;
		if ((size_t)n > room)
			k->r->truncated = true;
		buf_add(b, chunk, (size_t)n < room ? (size_t)n : room);
	}
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		close_fd(fd);
}

static void give(struct running *k)
{
	const struct child *c = k->c;
	ssize_t n = 0;

	while (k->written < c->input_len) {
		n = write(k->in.ours, c->input + k->written, c->input_len - k->written);
		if (n < 0)
			break;
		k->written += (size_t)n;
	}
	/* EPIPE: the program does not want it, which is its own affair */
	if (n >= 0 || (errno != EAGAIN && errno != EINTR))
		close_fd(&k->in.ours);
}

static void take_all(struct running *k)
{
	if (k->out.ours >= 0)
		take(k, &k->out.ours, &k->r->out);
	if (k->err.ours >= 0)
		take(k, &k->err.ours, &k->r->err);
	if (k->result.ours >= 0)
		take(k, &k->result.ours, &k->r->result);
}

static bool ended(const struct running *k)
{
	siginfo_t info = { 0 };

	/* WNOWAIT leaves a zombie, so that the group's number stays ours until it is killed */
	return waitid(P_PID, (id_t)k->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == k->pid;
}

/* Sleeps until something happens, at most `left` seconds (negative: any time). */
static void wait_for_event(const struct running *k, double left)
{
	struct pollfd p[] = {
		{ k->in.ours, POLLOUT, 0 }, { k->out.ours, POLLIN, 0 }, { k->err.ours, POLLIN, 0 },
		{ k->result.ours, POLLIN, 0 }, { k->pidfd, POLLIN, 0 },
	};
	double most = k->pidfd < 0 ? BLIND_MS * 1e-3 : 3600;
	struct timespec t;
	sigset_t mask = k->before;

	if (left < 0 || left > most)
		left = most;
	t.tv_sec = (time_t)left;
	t.tv_nsec = (long)((left - (double)t.tv_sec) * 1e9);
	sigaddset(&mask, SIGPIPE);
	ppoll(p, sizeof p / sizeof *p, &t, &mask);
}

static void watch(struct running *k)
{
	bool killed = false;
	double left;

	while (!ended(k)) {
		left = k->c->timeout > 0 ? k->start + k->c->timeout - clock_now() : -1;
		if (!killed && (child_interrupted || (k->c->timeout > 0 && left <= 0))) {
			k->r->end = child_interrupted ? CHILD_SIGNALED : CHILD_TIMEOUT;
			killed = true;
			kill(-k->pid, SIGKILL);
		}
		wait_for_event(k, killed ? -1 : left);
		if (k->in.ours >= 0)
			give(k);
		take_all(k);
	}
}

static void finish(struct running *k)
{
	int status = 0;

	kill(-k->pid, SIGKILL);
	while (waitpid(k->pid, &status, 0) < 0 && errno == EINTR)
		;
	k->r->seconds = clock_now() - k->start;
	take_all(k);
	k->r->code = WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status);
	if (k->r->end == CHILD_NOT_STARTED)
		k->r->end = WIFEXITED(status) ? CHILD_EXITED : CHILD_SIGNALED;
}

static void close_theirs(struct running *k)
{
	close_fd(&k->in.theirs);
	close_fd(&k->out.theirs);
	close_fd(&k->err.theirs);
	close_fd(&k->result.theirs);
}

static void close_all(struct running *k)
{
	close_theirs(k);
	close_fd(&k->in.ours);
	close_fd(&k->out.ours);
	close_fd(&k->err.ours);
	close_fd(&k->result.ours);
	close_fd(&k->pidfd);
}

static int open_pipes(struct running *k)
{
	return (k->c->input && open_pipe(&k->in, true)) || open_pipe(&k->out, false) ||
	       (!k->c->own_stderr && open_pipe(&k->err, false)) || (k->c->result_fd && open_pipe(&k->result, false));
}

/* SIGINT and SIGTERM are let through only while we wait, so that none is missed between a look and the wait; SIGPIPE
 * never, since a program that does not read its input must not end ours. */
static void hold_signals(sigset_t *before)
{
	sigset_t held;

	sigemptyset(&held);
	sigaddset(&held, SIGINT);
	sigaddset(&held, SIGTERM);
	sigaddset(&held, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &held, before);
}

static void release_signals(const sigset_t *before)
{
	const struct timespec none = { 0, 0 };
	sigset_t pipe_only;

	sigemptyset(&pipe_only);
	sigaddset(&pipe_only, SIGPIPE);
	if (!sigismember(before, SIGPIPE))
		while (sigtimedwait(&pipe_only, NULL, &none) == SIGPIPE)
			;
	pthread_sigmask(SIG_SETMASK, before, NULL);
}

int child_run(const struct child *c, struct child_result *r, struct err *e)
{
	const struct pipe_end closed = { -1, -1 };
	struct running k = {
		.c = c, .r = r, .pidfd = -1, .in = closed, .out = closed, .err = closed, .result = closed,
	};
	int failed;

	r->end = CHILD_NOT_STARTED;
	k.start = clock_now();
	hold_signals(&k.before);
	failed = open_pipes(&k) ? err_set(e, "cannot make a pipe:") : start(&k, e);
	close_theirs(&k);
	if (!failed) {
		k.pidfd = (int)syscall(SYS_pidfd_open, k.pid, 0);
		watch(&k);
		finish(&k);
	}
	close_all(&k);
	release_signals(&k.before);
	return failed;
}

void child_result_release(struct child_result *r)
{
	buf_release(&r->out);
	buf_release(&r->err);
	buf_release(&r->result);
	*r = (struct child_result){ .end = CHILD_NOT_STARTED };
}

bool child_take_ready(struct child_result *r)
{
	static const char ready[] = "ready\n";
	const size_t n = sizeof(ready) - 1;

	if (r->result.len < n || memcmp(r->result.data, ready, n))
		return false;
	r->result.len -= n;
	memmove(r->result.data, r->result.data + n, r->result.len + 1);	/* its final 0, too */
	return true;
}

const char *child_last_words(struct child_result *r)
{
	struct buf *b = &r->err;
	const char *line;

	while (b->len && b->data[b->len - 1] == '\n')
		b->data[--b->len] = '\0';
	line = b->len ? strrchr(b->data, '\n') : NULL;
	return line ? line + 1 : b->len ? b->data : "no message";
}
