/* Runs a program and writes to a file what it took: "WALL CPU PEAK": seconds, seconds, KiB of resident memory.
 *   usage: d2k-measure FILE COMMAND [ARGUMENT...]        exit status: the command's */
#include "die.h"
#include <stdio.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double seconds(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec * 1e-6;
}

int main(int argc, char **argv)
{
	struct rusage use;
	double start = now();
	int status;
	FILE *f;
	pid_t pid;

	die_program = "d2k-measure";
	if (argc < 3)
		die_usage("usage: d2k-measure FILE COMMAND [ARGUMENT...]");
	pid = fork();
	if (pid == 0) {
		execvp(argv[2], argv + 2);
		die("cannot run '%s':", argv[2]);
	}
	if (pid < 0 || wait4(pid, &status, 0, &use) != pid)
		die("cannot run '%s':", argv[2]);
	start = now() - start;
	f = fopen(argv[1], "w");
	if (!f ||
		fprintf(f, "%.3f %.3f %ld\n", start, seconds(use.ru_utime) + seconds(use.ru_stime), use.ru_maxrss) <
			0 ||
		fclose(f))
		die("cannot write '%s':", argv[1]);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
