/* child_run(): outputs, ends, limits, descriptors; and argument vectors. */
#include "../tap/tap.h"
#include "child.h"
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static struct child_result r;
static struct err e;

static int sh(struct child c, const char *script)
{
	char *argv[] = { "sh", "-c", (char *)script, NULL };

	child_result_release(&r);
	memset(&r, 0, sizeof r);
	*e.text = '\0';
	c.argv = argv;
	if (!c.max_output)
		c.max_output = 1 << 20;
	return child_run(&c, &r, &e);
}

static const char *text(struct buf *b)
{
	buf_addstr(b, "");
	return b->data;
}

static void test_ends(void)
{
	char *missing[] = { "/no/such/program", NULL };
	struct child c = { .argv = missing };

	ok(sh((struct child){ 0 }, "echo out; echo err >&2; exit 7") == 0, "runs");
	is_int(r.end, CHILD_EXITED, "exited");
	is_int(r.code, 7, "with its code");
	is_str(text(&r.out), "out\n", "stdout");
	is_str(text(&r.err), "err\n", "stderr");
	sh((struct child){ 0 }, "kill -SEGV $$");
	is_int(r.end, CHILD_SIGNALED, "signaled");
	is_int(r.code, SIGSEGV, "by its signal");
	sh((struct child){ .timeout = 0.2 }, "sleep 20");
	is_int(r.end, CHILD_TIMEOUT, "timeout");
	ok(r.seconds >= 0.2 && r.seconds < 3, "in time (%g s)", r.seconds);
	sh((struct child){ .timeout = 0.3, .max_output = 100 }, "yes");
	is_int(r.end, CHILD_TIMEOUT, "a flood of output does not hide the time");
	is_int((long long)r.out.len, 100, "and is cut at the limit");
	ok(r.truncated, "which is said");
	child_result_release(&r);
	memset(&r, 0, sizeof r);
	is_int(child_run(&c, &r, &e), -1, "a missing program");
	is_int(r.end, CHILD_NOT_STARTED, "was not started");
	is_str(e.text, "cannot run '/no/such/program': No such file or directory", "and why");
	is_str(child_end_name[CHILD_TIMEOUT], "timeout", "names of ends");
}

static void test_group(void)
{
	int status = 0;

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	sh((struct child){ .timeout = 20 }, "sleep 30 & echo $!");
	ok(r.seconds < 5, "a grandchild that keeps the pipes open does not delay the return");
	is_int(waitpid((pid_t)atoi(text(&r.out)), &status, 0), atoi(r.out.data), "and has ended");
	ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "killed");
}

static void test_descriptors(void)
{
	int fd = memfd_create("test", 0), other = open("/dev/null", O_RDONLY);
	char got[8] = "";

	sh((struct child){ .input = "line\n", .input_len = 5 }, "cat; echo end");
	is_str(text(&r.out), "line\nend\n", "input");
	sh((struct child){ 0 }, "cat");
	is_int((long long)r.out.len, 0, "no input is an empty one");
	sh((struct child){ .result_fd = true }, "echo r >&3; echo o");
	is_str(text(&r.result), "r\n", "descriptor 3");
	is_str(text(&r.out), "o\n", "apart from stdout");
	sh((struct child){ .pass_fd = fd }, "printf four >&4");
	ok(pread(fd, got, 4, 0) == 4 && !strcmp(got, "four"), "descriptor 4");
	sh((struct child){ 0 }, "ls /proc/self/fd | wc -l");
	is_int(atoi(text(&r.out)), 4, "nothing else is open (0 1 2 and that of ls)");
	close(fd);
	close(other);
}

static void test_input_unread(void)
{
	size_t n = 4 << 20;
	char *big = calloc(1, n);

	is_int(sh((struct child){ .input = big, .input_len = n }, "exit 3"), 0, "input that nobody reads");
	is_int(r.code, 3, "harms nobody");
	sh((struct child){ .input = big, .input_len = n }, "wc -c");
	is_int(atoi(text(&r.out)), (long long)n, "large input arrives whole");
	free(big);
}

static void test_env(void)
{
	char *env[] = { "ONLY=this", NULL };

	sh((struct child){ .env = env }, "echo $ONLY$HOME");
	is_str(text(&r.out), "this\n", "environment");
}

static void test_interrupt(void)
{
	struct itimerval soon = { { 0, 0 }, { 0, 200000 } };
	struct sigaction act = { 0 };

	child_catch_interrupts();
	sigaction(SIGTERM, NULL, &act);
	sigaction(SIGALRM, &act, NULL);
	setitimer(ITIMER_REAL, &soon, NULL);
	sh((struct child){ .timeout = 20 }, "sleep 30");
	ok(child_interrupted && r.seconds < 5, "an interrupt ends the child");
	is_int(r.end, CHILD_SIGNALED, "as if by a signal");
}

static void test_argv(void)
{
	struct argv a = { 0 };

	for (int i = 0; i < 20; i++)
		argv_addf(&a, "%d", i);
	argv_add(&a, "last");
	is_int((long long)a.n, 21, "arguments");
	ok(!strcmp(a.v[19], "19") && !strcmp(a.v[20], "last") && !a.v[21], "in order, NULL at the end");
	argv_release(&a);
}

int main(void)
{
	test_ends();
	test_group();
	test_descriptors();
	test_input_unread();
	test_env();
	test_argv();
	test_interrupt();
	child_result_release(&r);
	return done_testing();
}
