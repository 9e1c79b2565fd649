/* file and opt: replacing files, where the project lies, reading a command line. Run in a scratch folder. */
#include "file.h"
#include "opt.h"
#include "tap.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void test_files(void)
{
	struct buf b = BUF_INIT;
	struct stat st;
	struct err e;

	is_int(file_mkdirs("a/b//c/", &e), 0, "folders made");
	is_int(file_mkdirs("a/b/c", &e), 0, "and made again");
	is_int(file_write("a/b/f", "x\0y", 3, &e), 0, "written");
	is_int(file_mkdirs("a/b/f", &e), -1, "a file is no folder");
	is_int(file_mkdirs("a/b/f/g", &e), -1, "nor has it folders");
	is_int(file_mkdirs("", &e), -1, "nor is nothing");
	buf_addstr(&b, "before ");
	is_int(file_read("a/b/f", &b, &e), 0, "read");
	ok(b.len == 10 && !memcmp(b.data, "before x\0y", 11), "appended, NUL and all");
	umask(027);
	is_int(file_write("a/b/f", NULL, 0, &e), 0, "replaced by nothing");
	stat("a/b/f", &st);
	ok(st.st_size == 0 && (st.st_mode & 0777) == 0640, "with the mode that umask gives");
	is_int(file_write("a/none/f", "x", 1, &e), -1, "no folder to write to");
	is_int(file_write("a/b/c", "x", 1, &e), -1, "a folder is not replaced");
	is_str(e.text, "cannot replace 'a/b/c': Is a directory", "and why");
	is_int(file_read("a", &b, &e), -1, "a folder is not read");
	is_int((long long)b.len, 10, "what was there stays");
	buf_release(&b);
	is_int(file_read("/proc/self/status", &b, &e), 0, "a file that claims to be empty");
	ok(b.len > 100, "is read whole");
	buf_release(&b);
	ok(system("[ \"$(find a -type f)\" = a/b/f ]") == 0, "no temporary file is left");
}

static void test_root(void)
{
	char *path;

	setenv("D2K_ROOT", "/some/where", 1);
	setenv("D2K_PYTHON", "/usr/bin/python3", 1);
	path = file_in_root("tasks/%s/%d", "x", 5);
	is_str(path, "/some/where/tasks/x/5", "a path in the root");
	free(path);
	is_str(file_python(), "/usr/bin/python3", "the Python named");
	unsetenv("D2K_ROOT");
	unsetenv("D2K_PYTHON");
	ok(file_root()[0] == '/' && !strstr(file_root(), "/tests"), "without a name: two above the program");
}

struct options {
	double timeout;
	bool redo;
	long long n, port;
	const char *text;
	struct opt_list list;
};

static int parse(struct options *o, const char *line, char **argv)
{
	const struct opt table[] = { { 't', "timeout", OPT_SECONDS, &o->timeout, "SECONDS", "how long", 0, 0 },
		{ 'r', "redo", OPT_FLAG, &o->redo, NULL, "again", 0, 0 },
		{ 'n', "count", OPT_INT, &o->n, "N", "how many", 0, 0 },
		{ 0, "port", OPT_INT, &o->port, "N", "which", -1, 65535 },
		{ 's', "text", OPT_STR, &o->text, "TEXT", "what", 0, 0 },
		{ 'l', "list", OPT_LIST, &o->list, "X", "these", 0, 0 }, OPT_END };
	static const struct opt_usage usage = { "d2k-test", "[FILE...]", "d2k-test --redo <in >out", "Tests." };
	static char copy[500];
	int argc = 1;

	snprintf(copy, sizeof copy, "%s", line);
	argv[0] = "d2k-test";
	for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
		argv[argc++] = word;
	argv[argc] = NULL;
	*o = (struct options) { .timeout = 60, .n = 3 };
	return opt_parse(&usage, table, argc, argv);
}

/* Parses in a child whose stdout and stderr go to a file; the exit status, with the text in b. */
static int parse_apart(const char *line, struct buf *b)
{
	struct options o;
	char *argv[20];
	struct err e;
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		int fd = open("said", O_WRONLY | O_CREAT | O_TRUNC, 0600);

		dup2(fd, 1);
		dup2(fd, 2);
		parse(&o, line, argv);
		_exit(42);
	}
	waitpid(pid, &status, 0);
	buf_reset(b);
	file_read("said", b, &e);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void test_options(void)
{
	static const char *const wrong[] = { "-t 0", "--timeout=nan", "--timeout inf", "--timeout=1e10",
		"--timeout 0x10", "--timeout=5s", "-n -1", "-n 5x", "--count=", "--count=99999999999999999999",
		"--port=65536", "--port=-2", "--nope", "-x", "--redo=1", "--text", "-s", "--tex=1", "-rz" };
	struct buf b = BUF_INIT;
	struct options o;
	char *argv[20];
	int n = parse(&o, "f1 -t 2.5 --redo -n7 --port=-1 f2 --text a=b -l x -lred --list=z -- --redo -", argv);

	is_int(n, 4, "four operands");
	ok(!strcmp(argv[0], "f1") && !strcmp(argv[1], "f2") && !strcmp(argv[2], "--redo") && !strcmp(argv[3], "-"),
		"in order, at the front");
	ok(o.timeout == 2.5 && o.redo && o.n == 7 && o.port == -1, "values");
	is_str(o.text, "a=b", "text");
	ok(o.list.n == 3 && !strcmp(o.list.v[0], "x") && !strcmp(o.list.v[1], "red") && !strcmp(o.list.v[2], "z"),
		"a list in order");
	free(o.list.v);
	is_int(parse(&o, "-rt5 -", argv), 1, "letters together, '-' is an operand");
	ok(o.redo && o.timeout == 5 && o.n == 3, "values and a default");
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		is_int(parse_apart(wrong[i], &b), 2, "misuse: %s", wrong[i]);
		ok(b.len && strchr(b.data, '\n') == b.data + b.len - 1 && !strncmp(b.data, "d2k-test: ", 10),
			"says so in one line");
	}
	is_int(parse_apart("--help --nope", &b), 0, "help");
	ok(!strncmp(b.data, "example: d2k-test --redo <in >out\n", 34), "begins with the example");
	ok(strstr(b.data, "-t, --timeout SECONDS") && strstr(b.data, "how long (default 60)") &&
			strstr(b.data, "(default 3)"),
		"shows the defaults");
	is_int(parse_apart("--version", &b), 0, "version");
	is_str(b.data, "d2k-test " D2K_VERSION "\n", "its text");
	buf_release(&b);
}

int main(void)
{
	test_files();
	test_root();
	test_options();
	return done_testing();
}
