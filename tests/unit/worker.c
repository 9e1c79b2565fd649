/* workers_run(): lines, ends, the clock's start, and that what a job prints goes nowhere. */
#include "../tap/tap.h"
#include "worker.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SAYS, PRINTS, FAILS, DIES, HANGS, WAITS, JOBS };

static void say(int fd, const char *text)
{
	if (write(fd, text, strlen(text)) < 0)
		_exit(9);
}

static int job(int i, int fd, void *ctx)
{
	(void)ctx;
	switch (i) {
	case SAYS:
		say(fd, "one\ntwo\nthree");
		return 0;
	case PRINTS:
		say(STDOUT_FILENO, "{\"time\":{\"status\":\"correct\"}}\n");
		printf("and by stdio\n");
		fflush(stdout);
		return 0;
	case FAILS:
		return 7;
	case DIES:
		raise(SIGKILL);
		return 0;
	case HANGS:
		say(fd, "L\nbefore\n");
		pause();
		return 0;
	default:
		usleep(900000);		/* longer than the timeout, which has not begun */
		say(fd, "L\n");
		return 0;
	}
}

static int lines[JOBS];

static void line(int i, const char *text, void *ctx)
{
	(void)ctx;
	lines[i] += *text != '\0';
}

/* What lands on our stdout while the workers run. */
static char *captured(const struct workers *w, struct worker_result *r)
{
	static char text[4096];
	FILE *f = tmpfile();
	int out = dup(STDOUT_FILENO);
	struct err e = { "" };
	size_t n;

	fflush(stdout);
	dup2(fileno(f), STDOUT_FILENO);
	if (workers_run(w, r, &e))
		printf("%s\n", e.text);
	fflush(stdout);
	dup2(out, STDOUT_FILENO);
	close(out);
	rewind(f);
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = '\0';
	fclose(f);
	return text;
}

int main(void)
{
	struct workers w = { .n = JOBS, .width = 2, .timeout = 0.5, .start_mark = 'L', .job = job, .line = line };
	struct worker_result r[JOBS];

	is_str(captured(&w, r), "", "what jobs print goes nowhere");
	is_int(r[SAYS].end, CHILD_EXITED, "a job ends");
	is_int((long long)r[SAYS].out.len, 13, "all it said is there");
	is_int(lines[SAYS], 2, "its whole lines were reported");
	is_int(r[PRINTS].end, CHILD_EXITED, "a job may print");
	is_int((long long)r[PRINTS].out.len, 0, "and has said nothing");
	ok(r[FAILS].end == CHILD_EXITED && r[FAILS].code == 7, "exit codes are kept");
	ok(r[DIES].end == CHILD_SIGNALED && r[DIES].code == SIGKILL, "so are signals");
	is_int(r[HANGS].end, CHILD_TIMEOUT, "a job that hangs is ended");
	is_int(lines[HANGS], 2, "what it said before is there");
	is_int(r[WAITS].end, CHILD_EXITED, "time before the mark is not counted");
	for (int i = 0; i < JOBS; i++)
		worker_result_release(&r[i]);
	return done_testing();
}
