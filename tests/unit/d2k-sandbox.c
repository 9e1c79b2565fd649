/* Runs a command in the sandbox, for tests: d2k-sandbox [rw:DIR] [ro:DIR] [env:N=V] [nproc:N] [as:BYTES] [fsize:BYTES]
 * [timeout:S] [python] -- COMMAND...  Its outputs are passed on; the exit status is the command's, 128 + a signal's
 * number, 124 for a time-out, 99 when there is no sandbox. */
#include "sandbox.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *value(const char *arg, const char *key)
{
	size_t n = strlen(key);

	return strncmp(arg, key, n) ? NULL : arg + n;
}

static double read_options(char **argv, struct sandbox *s, struct err *e)
{
	double timeout = 30;
	const char *v;

	for (; *argv && strcmp(*argv, "--"); argv++) {
		if ((v = value(*argv, "rw:")))
			sandbox_rw(s, v, "/work");
		if ((v = value(*argv, "ro:")))
			sandbox_ro(s, v, "/given");
		if ((v = value(*argv, "env:")))
			sandbox_env(s, "GIVEN", v);
		if ((v = value(*argv, "nproc:")))
			s->processes = atoi(v);
		if ((v = value(*argv, "as:")))
			s->memory = strtoull(v, NULL, 10);
		if ((v = value(*argv, "fsize:")))
			s->file_size = strtoull(v, NULL, 10);
		if ((v = value(*argv, "cpu:")))
			s->cpu = atof(v);
		if ((v = value(*argv, "timeout:")))
			timeout = atof(v);
		if (!strcmp(*argv, "python") && sandbox_python(s, e))
			fprintf(stderr, "%s\n", e->text);
	}
	return timeout;
}

static int status(const struct child_result *r)
{
	switch (r->end) {
	case CHILD_EXITED:
		return r->code;
	case CHILD_SIGNALED:
		return 128 + r->code;
	case CHILD_TIMEOUT:
		return 124;
	default:
		return 99;
	}
}

int main(int argc, char **argv)
{
	struct sandbox s = { .cwd = "/tmp" };
	struct argv command = { 0 };
	struct child_result r = { 0 };
	struct child c = { .max_output = 1 << 20 };
	struct err e = { "" };
	int i = 1, code;

	c.timeout = read_options(argv + 1, &s, &e);
	while (i < argc && strcmp(argv[i], "--"))
		i++;
	if (sandbox_command(&s, &command, &e)) {
		fprintf(stderr, "%s\n", e.text);
		return 99;
	}
	for (i++; i < argc; i++)
		argv_add(&command, argv[i]);
	c.argv = command.v;
	if (child_run(&c, &r, &e))
		fprintf(stderr, "%s\n", e.text);
	if (r.out.len)
		fwrite(r.out.data, 1, r.out.len, stdout);
	if (r.err.len)
		fwrite(r.err.data, 1, r.err.len, stderr);
	code = status(&r);
	child_result_release(&r);
	argv_release(&command);
	sandbox_release(&s);
	return code;
}
