/* Running another program: input given, output collected up to a limit, killed with its whole process group on
 * time-out. */
#ifndef CHILD_H
#define CHILD_H
#include "buf.h"
#include "die.h"
#include <stdbool.h>
#include <stddef.h>

/* A NULL-terminated, growable argument vector that owns its strings. */
struct argv {
	char **v;
	size_t n, cap;
};
void argv_add(struct argv *a, const char *s);
void argv_addf(struct argv *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void argv_release(struct argv *a);

struct child {
	char *const *argv;
	char *const *env;		/* NULL: inherit */
	const char *input;		/* NULL: /dev/null */
	size_t input_len;
	double timeout;			/* seconds; 0: none */
	size_t max_output;		/* bytes kept of each of out, err, result; more is read and dropped */
	bool result_fd;			/* also collect what the child writes on file descriptor 3 */
	int pass_fd;			/* a descriptor the child shall have as number 4; 0: none */
	bool own_stderr;		/* leave the child's stderr where ours goes instead of collecting it */
};

enum child_end { CHILD_EXITED, CHILD_SIGNALED, CHILD_TIMEOUT, CHILD_NOT_STARTED };
extern const char *const child_end_name[];	/* "exited", "signaled", "timeout", "not started" */

struct child_result {
	enum child_end end;
	int code;			/* exit code or signal number */
	double seconds;			/* wall time */
	struct buf out, err, result;
	bool truncated;			/* some output went over max_output */
};

/* Runs it and waits for the program itself (a background grandchild that keeps the pipes open does not delay the
 * return: the group is killed). 0, or -1 with CHILD_NOT_STARTED and the reason in e. r starts zeroed. */
int child_run(const struct child *c, struct child_result *r, struct err *e);
void child_result_release(struct child_result *r);
/* Takes the line "ready" off the front of `result`. Programs of ours that run a submission write it before they read
 * that, which so has no say in whose fault it is when it is not there. False: it is not. */
bool child_take_ready(struct child_result *r);
/* The last line on its stderr, where an exception's name is. Good until the result is released. */
const char *child_last_words(struct child_result *r);
/* Set by SIGINT/SIGTERM after child_catch_interrupts(); child_run then kills its child and returns. Another, a second or
 * more later, ends the program at once. */
extern volatile int child_interrupted;
void child_catch_interrupts(void);
#endif
