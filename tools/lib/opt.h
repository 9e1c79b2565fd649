/* Command-line options from one table that also prints the help, so the two cannot disagree.
 *
 *     static const struct opt opts[] = {
 *         { 't', "timeout", OPT_SECONDS, &o.timeout, "SECONDS", "give up on one record after this long" },
 *         { 0, "redo", OPT_FLAG, &o.redo, NULL, "replace an existing section" },
 *         OPT_END };
 *
 * --help (stdout, exit 0) prints the example, the summary, and each option with its default as found in the variable;
 * --version prints "NAME VERSION". Misuse is one line on stderr, exit 2. Long options take "--name value" or
 * "--name=value"; "--" ends options. Operands may be mixed with options. */
#ifndef OPT_H
#define OPT_H
#include <stdbool.h>

#define D2K_VERSION "0.1.0"

enum opt_type {
	OPT_FLAG,	/* bool *; sets true */
	OPT_INT,	/* long long *; whole number in [min, max] */
	OPT_SECONDS,	/* double *; > 0 and at most 1e9 */
	OPT_PERCENT,	/* double *; > 0 and at most 100 */
	OPT_STR,	/* const char ** */
	OPT_LIST	/* struct opt_list *; repeatable, values in order */
};

struct opt_list {
	const char **v;
	int n;
};

struct opt {
	char letter;		/* 0: long form only */
	const char *name;
	enum opt_type type;
	void *var;
	const char *arg;	/* how the help names the value */
	const char *help;
	long long min, max;	/* OPT_INT only; both 0: any non-negative */
};
/* Between options: those behind it stand under this heading in the help. */
#define OPT_GROUP(heading) { 0, "", OPT_FLAG, NULL, NULL, heading, 0, 0 }
#define OPT_END { 0, NULL, OPT_FLAG, NULL, NULL, NULL, 0, 0 }

struct opt_usage {
	const char *name;	/* program name */
	const char *operands;	/* "[FILE...]" */
	const char *example;	/* a command line that works */
	const char *summary;	/* a few lines on what it reads and what it adds */
};

/* Starts the program: names it in messages, makes a write to a closed pipe fail instead of kill, keeps closed standard
 * descriptors from being taken by other files. Then parses argv; the operands are moved to the front of argv from index
 * 0 and their number returned. */
int opt_parse(const struct opt_usage *u, const struct opt *table, int argc, char **argv);
/* The value of a list's option as a whole number; wrong usage ends the program. min and max both 0: any non-negative. */
long long opt_whole(const char *name, const char *value, long long min, long long max);
#endif
