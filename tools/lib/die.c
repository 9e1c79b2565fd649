/* Messages on stderr, error texts, and allocation that ends the program when memory is out. */
#include "die.h"
#include "utf8.h"
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *die_program = "d2k";

/* Shows control bytes, C1 controls and what is not UTF-8 as '?'. */
static void clean(char *s)
{
	size_t n = strlen(s), len;

	for (; n > 0; s += len, n -= len) {
		len = utf8_sequence(s, n);
		if (len <= 1 && (len == 0 || (unsigned char)*s < 0x20 || *s == 0x7f)) {
			*s = '?';
			len = 1;
		} else if (len == 2 && s[0] == '\xc2' && (unsigned char)s[1] < 0xa0) {
			s[0] = s[1] = '?';
		}
	}
}

/* Takes the beginning of a character off the end of a text that was cut. */
static void trim(char *s)
{
	size_t n = strlen(s), last = n;

	while (last > 0 && n - last < 3 && ((unsigned char)s[last - 1] & 0xc0) == 0x80)
		last--;
	if (last > 0 && (unsigned char)s[last - 1] >= 0xc0 && !utf8_sequence(s + last - 1, n - last + 1))
		s[last - 1] = '\0';
}

/* The message in out, cut to fit; appends errno's text after a final ':'. */
static void compose(char *out, size_t size, const char *fmt, va_list args)
{
	const char *why = strerror(errno);
	size_t flen = strlen(fmt), n;

	n = (size_t)vsnprintf(out, size, fmt, args);
	if (n < size && flen > 0 && fmt[flen - 1] == ':')
		n += (size_t)snprintf(out + n, size - n, " %s", why);
	if (n >= size)
		trim(out);
}

/* One write per message, so that lines of processes sharing a stderr do not mix. */
static void say(const char *fmt, va_list args)
{
	char text[2048], line[2200];
	ssize_t ignored;
	int n;

	compose(text, sizeof text, fmt, args);
	clean(text);
	n = snprintf(line, sizeof line, "%.128s: %s\n", die_program, text);
	ignored = write(STDERR_FILENO, line, (size_t)n);
	(void)ignored;
}

#define SAY(fmt)                    \
	do {                        \
		va_list args;       \
		va_start(args, fmt); \
		say(fmt, args);     \
		va_end(args);       \
	} while (0)

void warn(const char *fmt, ...)
{
	SAY(fmt);
}

void die(const char *fmt, ...)
{
	SAY(fmt);
	exit(EXIT_RECORD);
}

void die_usage(const char *fmt, ...)
{
	SAY(fmt);
	exit(EXIT_USAGE);
}

int err_set(struct err *e, const char *fmt, ...)
{
	va_list args;

	if (!e)
		return -1;
	va_start(args, fmt);
	compose(e->text, sizeof e->text, fmt, args);
	va_end(args);
	return -1;
}

void *xmalloc(size_t n)
{
	return xrealloc(NULL, n);
}

void *xcalloc(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size ? size : 1);

	if (!p)
		die("out of memory (%zu x %zu bytes)", n, size);
	return p;
}

void *xrealloc(void *p, size_t n)
{
	p = realloc(p, n ? n : 1);
	if (!p)
		die("out of memory (%zu bytes)", n);
	return p;
}

void *xgrow(void *p, size_t *cap, size_t need, size_t size)
{
	size_t n = *cap ? *cap : 8;

	if (need <= *cap)
		return p;
	while (n < need)
		n = n > SIZE_MAX / 2 ? need : 2 * n;
	if (n > SIZE_MAX / size)
		die("out of memory (%zu x %zu bytes)", n, size);
	*cap = n;
	return xrealloc(p, n * size);
}

char *xstrdup(const char *s)
{
	return xstrndup(s, strlen(s));
}

char *xstrndup(const char *s, size_t n)
{
	size_t len = strnlen(s, n);
	char *copy = xmalloc(len + 1);

	memcpy(copy, s, len);
	copy[len] = '\0';
	return copy;
}

char *xvasprintf(const char *fmt, va_list args)
{
	char *s;

	if (vasprintf(&s, fmt, args) < 0)
		die("out of memory");
	return s;
}

char *xasprintf(const char *fmt, ...)
{
	va_list args;
	char *s;

	va_start(args, fmt);
	s = xvasprintf(fmt, args);
	va_end(args);
	return s;
}
