/* Options from one table: parsing, --help, --version. */
#include "opt.h"
#include "die.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HELP_COLUMN = 28 };	/* where the option texts begin */

static void print_default(const struct opt *o)
{
	switch (o->type) {
	case OPT_FLAG:
		break;
	case OPT_INT:
		printf(" (default %lld)", *(const long long *)o->var);
		break;
	case OPT_SECONDS:
	case OPT_PERCENT:
		printf(" (default %.15g)", *(const double *)o->var);
		break;
	case OPT_STR:
		if (*(const char *const *)o->var)
			printf(" (default '%s')", *(const char *const *)o->var);
		break;
	case OPT_LIST:
		printf(" (repeatable)");
	}
}

static void print_option(const struct opt *o)
{
	int n = o->letter ? printf("  -%c, --%s", o->letter, o->name) : printf("      --%s", o->name);

	if (o->arg)
		n += printf(" %s", o->arg);
	if (n + 2 > HELP_COLUMN)
		n = printf("\n") - 1;
	printf("%*s%s", HELP_COLUMN - n, "", o->help);
	print_default(o);
	printf("\n");
}

static _Noreturn void finish_stdout(void)
{
	if (fclose(stdout))
		die("cannot write to stdout:");
	exit(EXIT_DONE);
}

static _Noreturn void help(const struct opt_usage *u, const struct opt *o)
{
	printf("example: %s\n\nusage: %s [OPTION]...%s%s\n\n", u->example, u->name, *u->operands ? " " : "", u->operands);
	printf("%s\n\noptions:\n", u->summary);
	while (o->name && *o->name)
		print_option(o++);
	printf("%-*s%s\n", HELP_COLUMN, "      --help", "show this");
	printf("%-*s%s\n", HELP_COLUMN, "      --version", "show the version");
	for (; o->name; o++)
		if (*o->name)
			print_option(o);
		else
			printf("\n%s:\n", o->help);
	finish_stdout();
}

static _Noreturn void version(const struct opt_usage *u)
{
	printf("%s %s\n", u->name, D2K_VERSION);
	finish_stdout();
}

long long opt_whole(const char *name, const char *value, long long min, long long max)
{
	bool any = min == 0 && max == 0;
	long long x;
	char *end;

	errno = 0;
	x = strtoll(value, &end, 10);
	if (end == value || *end || strchr(" \t\n\v\f\r+", *value))
		die_usage("--%s wants a whole number, not '%s'", name, value);
	if (errno || x < min || x > (any ? LLONG_MAX : max)) {
		if (any)
			die_usage("--%s wants a number from 0, not '%s'", name, value);
		die_usage("--%s wants a number from %lld to %lld, not '%s'", name, min, max, value);
	}
	return x;
}

static double parse_positive(const struct opt *o, const char *s, const char *what, double most)
{
	char *end;
	double x = strtod(s, &end);

	if (s[strspn(s, "0123456789.eE+-")] || end == s || *end || !(x > 0 && x <= most))
		die_usage("--%s wants %s, over 0 and at most %g, not '%s'", o->name, what, most, s);
	return x;
}

static void list_add(struct opt_list *list, const char *value)
{
	list->v = xrealloc(list->v, ((size_t)list->n + 1) * sizeof *list->v);
	list->v[list->n++] = value;
}

static void set(const struct opt *o, const char *value)
{
	switch (o->type) {
	case OPT_FLAG:
		*(bool *)o->var = true;
		break;
	case OPT_INT:
		*(long long *)o->var = opt_whole(o->name, value, o->min, o->max);
		break;
	case OPT_SECONDS:
		*(double *)o->var = parse_positive(o, value, "seconds", 1e9);
		break;
	case OPT_PERCENT:
		*(double *)o->var = parse_positive(o, value, "per cent", 100);
		break;
	case OPT_STR:
		*(const char **)o->var = value;
		break;
	case OPT_LIST:
		list_add(o->var, value);
		break;
	}
}

static const struct opt *find_long(const struct opt *table, const char *name, size_t n)
{
	for (const struct opt *o = table; o->name; o++)
		if (n && strlen(o->name) == n && !memcmp(o->name, name, n))
			return o;
	return NULL;
}

static const struct opt *find_letter(const struct opt *table, char letter)
{
	for (const struct opt *o = table; o->name; o++)
		if (o->letter && o->letter == letter)
			return o;
	return NULL;
}

/* "--name", "--name value" or "--name=value"; returns how many further arguments were used. */
static int parse_long(const struct opt_usage *u, const struct opt *table, char *const *arg)
{
	const char *name = arg[0] + 2, *equals = strchr(name, '=');
	const struct opt *o = find_long(table, name, equals ? (size_t)(equals - name) : strlen(name));

	if (!strcmp(name, "help"))
		help(u, table);
	if (!strcmp(name, "version"))
		version(u);
	if (!o)
		die_usage("unknown option '%s'; try --help", arg[0]);
	if (o->type == OPT_FLAG && equals)
		die_usage("--%s takes no value", o->name);
	if (o->type != OPT_FLAG && !equals && !arg[1])
		die_usage("--%s wants a value", o->name);
	set(o, equals ? equals + 1 : arg[1]);
	return o->type != OPT_FLAG && !equals;
}

/* "-r", "-t value", "-tvalue", and flags together as in "-rv". */
static int parse_letters(const struct opt *table, char *const *arg)
{
	for (const char *p = arg[0] + 1; *p; p++) {
		const struct opt *o = find_letter(table, *p);

		if (!o)
			die_usage("unknown option '-%c' in '%s'; try --help", *p, arg[0]);
		if (o->type == OPT_FLAG) {
			set(o, NULL);
			continue;
		}
		if (!p[1] && !arg[1])
			die_usage("-%c wants a value", *p);
		set(o, p[1] ? p + 1 : arg[1]);
		return !p[1];
	}
	return 0;
}

static void nothing(int signal_number)
{
	(void)signal_number;
}

/* A closed pipe is an error of the write, not a death by signal; a handler, unlike SIG_IGN, is not passed on to
 * children. A standard descriptor that is closed stays unusable, instead of becoming the next file opened. */
static void start(void)
{
	struct sigaction closed_pipe = { .sa_handler = nothing, .sa_flags = SA_RESTART };

	sigaction(SIGPIPE, &closed_pipe, NULL);
	for (int fd = 0; fd < 3; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) != fd)
			exit(EXIT_RECORD);
}

int opt_parse(const struct opt_usage *u, const struct opt *table, int argc, char **argv)
{
	int operands = 0, i = 1;

	die_program = u->name;
	start();
	for (; i < argc && strcmp(argv[i], "--"); i++) {
		if (!strncmp(argv[i], "--", 2))
			i += parse_long(u, table, argv + i);
		else if (argv[i][0] == '-' && argv[i][1])
			i += parse_letters(table, argv + i);
		else
			argv[operands++] = argv[i];
	}
	for (i++; i < argc; i++)
		argv[operands++] = argv[i];
	return operands;
}
