/* Messages for people, on stderr, with the program's name in front.
 *
 * A format that ends in ':' gets the text of errno appended. Control bytes in the finished message are shown as '?',
 * so text from outside cannot drive a terminal. Three levels: warn() for one bad record, die() when the tool cannot
 * work (exit 1), die_usage() for a wrong command line (exit 2). */
#ifndef DIE_H
#define DIE_H
#include <stdarg.h>
#include <stddef.h>

#define DIE_PRINTF(a, b) __attribute__((format(printf, a, b)))

enum { EXIT_DONE = 0, EXIT_RECORD = 1, EXIT_USAGE = 2, EXIT_AGAIN = 75 };

/* The name in front of every message; opt_parse() sets it. */
extern const char *die_program;

void warn(const char *fmt, ...) DIE_PRINTF(1, 2);
_Noreturn void die(const char *fmt, ...) DIE_PRINTF(1, 2);
_Noreturn void die_usage(const char *fmt, ...) DIE_PRINTF(1, 2);

/* Error text that a library function fills for its caller, who knows the context and prints it. */
struct err {
	char text[512];
};
/* Writes the text (same ':' rule) and returns -1, so that "return err_set(...)" reads well. e may be NULL. */
int err_set(struct err *e, const char *fmt, ...) DIE_PRINTF(2, 3);

/* Allocation that cannot fail: out of memory ends the program with exit 1. */
void *xmalloc(size_t n);
void *xcalloc(size_t n, size_t size);
void *xrealloc(void *p, size_t n);
/* Grows an array of *cap elements of the given size so that it holds at least `need`; doubles. */
void *xgrow(void *p, size_t *cap, size_t need, size_t size);
char *xstrdup(const char *s);
char *xstrndup(const char *s, size_t n);
char *xasprintf(const char *fmt, ...) DIE_PRINTF(1, 2);
char *xvasprintf(const char *fmt, va_list args) DIE_PRINTF(1, 0);
#endif
