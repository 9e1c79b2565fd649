/* Whole files, folders, and where the project lies. */
#include "file.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int read_all(int fd, struct buf *b, size_t expected)
{
	ssize_t n;

	buf_reserve(b, expected);
	for (;;) {
		buf_reserve(b, 4096);
		n = read(fd, b->data + b->len, b->cap - b->len - 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		b->len += (size_t)n;
	}
	b->data[b->len] = '\0';
	return (int)n;
}

int file_read(const char *path, struct buf *b, struct err *e)
{
	size_t start = b->len;
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC), rc;

	if (fd < 0)
		return err_set(e, "cannot open '%s':", path);
	rc = fstat(fd, &st);
	if (rc == 0)
		rc = read_all(fd, b, st.st_size > 0 ? (size_t)st.st_size + 1 : 0);
	if (rc < 0) {
		b->len = start;
		err_set(e, "cannot read '%s':", path);
	}
	close(fd);
	return rc;
}

int file_write_all(int fd, const void *data, size_t n)
{
	const char *p = data;
	ssize_t done;

	for (; n > 0; p += done, n -= (size_t)done) {
		done = write(fd, p, n);
		if (done < 0 && errno == EINTR)
			done = 0;
		if (done < 0)
			return -1;
	}
	return 0;
}

int file_write(const char *path, const void *data, size_t n, struct err *e)
{
	char *temp = xasprintf("%s.XXXXXX", path);
	mode_t mask = umask(0);
	int fd, rc = -1;

	umask(mask);
	fd = mkostemp(temp, O_CLOEXEC);
	if (fd < 0) {
		err_set(e, "cannot create '%s':", temp);
		goto out;
	}
	if (fchmod(fd, 0666 & ~mask) || file_write_all(fd, data, n) || fsync(fd)) {
		err_set(e, "cannot write '%s':", temp);
		close(fd);
		goto remove;
	}
	if (close(fd) || rename(temp, path)) {
		err_set(e, "cannot replace '%s':", path);
		goto remove;
	}
	rc = 0;
	goto out;
remove:
	unlink(temp);
out:
	free(temp);
	return rc;
}

int file_mkdirs(const char *path, struct err *e)
{
	char *copy = xstrdup(path);
	int rc = 0;

	for (char *p = copy + 1; rc == 0 && *copy; p++) {
		char c = *p;

		if (c != '/' && c != '\0')
			continue;
		*p = '\0';
		if (mkdir(copy, 0777) && errno != EEXIST)
			rc = err_set(e, "cannot make directory '%s':", copy);
		*p = c;
		if (c == '\0')
			break;
	}
	if (rc == 0) {
		struct stat st;

		if (stat(path, &st) || (!S_ISDIR(st.st_mode) && (errno = ENOTDIR)))
			rc = err_set(e, "cannot make directory '%s':", path);
	}
	free(copy);
	return rc;
}

bool file_exists(const char *path)
{
	return access(path, F_OK) == 0;
}

/* The folder above the running program's own: ROOT for ROOT/bin/d2k-x. */
static char *program_parent(void)
{
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);

	if (n < 0)
		die("cannot read '/proc/self/exe':");
	path[n] = '\0';
	for (int up = 0; up < 2; up++) {
		char *slash = strrchr(path, '/');

		if (slash)
			*slash = '\0';
	}
	return xstrdup(*path ? path : "/");
}

const char *file_root(void)
{
	static char *root;
	const char *env = getenv("D2K_ROOT");

	if (env && *env)
		return env;
	if (!root)
		root = program_parent();
	return root;
}

char *file_in_root(const char *fmt, ...)
{
	va_list args;
	char *rest, *path;

	va_start(args, fmt);
	rest = xvasprintf(fmt, args);
	va_end(args);
	path = xasprintf("%s/%s", file_root(), rest);
	free(rest);
	return path;
}

const char *file_python(void)
{
	static char *python;
	const char *env = getenv("D2K_PYTHON");

	if (env && *env)
		return env;
	if (!python)
		python = file_in_root(".venv/bin/python3");
	return python;
}
