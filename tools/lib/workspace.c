/* The agent's files. */
#include "workspace.h"
#include "file.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { LIST_MAX = 1000 };

int workspace_open(struct workspace *w, const char *path, struct err *e)
{
	w->fd = -1;
	w->path = NULL;
	if (file_mkdirs(path, e))
		return -1;
	w->path = realpath(path, NULL);
	w->fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (!w->path || w->fd < 0)
		return err_set(e, "cannot open '%s':", path);
	return 0;
}

void workspace_release(struct workspace *w)
{
	if (w->fd >= 0)
		close(w->fd);
	free(w->path);
}

/* Paths ----------------------------------------------------------------------------------------------------------- */

/* "/agent", "/agent/x", "./x" and "x" are the same place's names. */
static const char *inside(const char *path)
{
	size_t n = strlen(WORKSPACE_MOUNT);

	if (!strncmp(path, WORKSPACE_MOUNT, n) && (path[n] == '/' || !path[n]))
		path += n + strspn(path + n, "/");
	return *path ? path : ".";
}

static int open_beneath(int dir, const char *path, int flags, mode_t mode)
{
	struct open_how how = {
		.flags = (unsigned)(flags | O_CLOEXEC),
		.mode = flags & O_CREAT ? mode : 0,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};

	return (int)syscall(SYS_openat2, dir, path, &how, sizeof how);
}

/* Says why in the model's terms: what lies outside does not exist for it. */
static int path_error(struct err *e, const char *what, const char *path)
{
	if (errno == EXDEV)
		return err_set(e, "cannot %s '%s': it is outside the workspace", what, path);
	if (errno == ELOOP)
		return err_set(e, "cannot %s '%s': links are not followed", what, path);
	return err_set(e, "cannot %s '%s':", what, path);
}

/* The folder a path lies in, made where missing, and its last part in name. */
static int open_parent(const struct workspace *w, const char *path, const char **name, struct err *e)
{
	const char *rest = inside(path), *slash;
	int dir, next;

	if (*rest == '/') {
		errno = EXDEV;
		return path_error(e, "write", path);
	}
	dir = open_beneath(w->fd, ".", O_PATH | O_DIRECTORY, 0);
	while (dir >= 0 && (slash = strchr(rest, '/'))) {
		char *part = xstrndup(rest, (size_t)(slash - rest));

		/* ".." would end at this step's folder, so it is refused like any other way out */
		if (*part && strcmp(part, ".")) {
			if (strcmp(part, "..") && mkdirat(dir, part, 0755) && errno != EEXIST)
				next = -1;
			else
				next = open_beneath(dir, part, O_PATH | O_DIRECTORY, 0);
			close(dir);
			dir = next;
		}
		free(part);
		rest = slash + 1;
	}
	if (dir < 0)
		return path_error(e, "write", path);
	*name = rest;
	if (!*rest || !strcmp(rest, ".") || !strcmp(rest, "..")) {
		close(dir);
		return err_set(e, "cannot write '%s': it names no file", path);
	}
	return dir;
}

/* Files ----------------------------------------------------------------------------------------------------------- */

static int read_all(int fd, struct buf *out)
{
	ssize_t n;

	do {
		buf_reserve(out, 64 << 10);
		n = read(fd, out->data + out->len, 64 << 10);
		if (n > 0)
			out->len += (size_t)n;
	} while ((n > 0 && out->len <= WORKSPACE_FILE_MAX) || (n < 0 && errno == EINTR));
	out->data[out->len] = '\0';
	return n < 0 ? -1 : 0;
}

/* A regular file only: a FIFO would hang, a device is never wanted. */
static int open_file(const struct workspace *w, const char *path, struct stat *st, struct err *e)
{
	int fd = open_beneath(w->fd, inside(path), O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);

	if (fd < 0)
		return path_error(e, "read", path);
	if (fstat(fd, st) || !S_ISREG(st->st_mode))
		err_set(e, "cannot read '%s': it is %s", path, S_ISDIR(st->st_mode) ? "a folder" : "no regular file");
	else if (st->st_size > WORKSPACE_FILE_MAX)
		err_set(e, "cannot read '%s': it has %lld bytes, more than %d", path, (long long)st->st_size,
			WORKSPACE_FILE_MAX);
	else
		return fd;
	close(fd);
	return -1;
}

static int read_file(const struct workspace *w, const char *path, struct buf *out, struct stat *st, struct err *e)
{
	int fd = open_file(w, path, st, e), failed;

	if (fd < 0)
		return -1;
	failed = read_all(fd, out) ? path_error(e, "read", path) : 0;
	close(fd);
	return failed;
}

int workspace_read(const struct workspace *w, const char *path, struct buf *out, struct err *e)
{
	struct stat st;

	return read_file(w, path, out, &st, e);
}

static int write_file(const struct workspace *w, const char *path, const void *data, size_t n, mode_t mode,
		      struct err *e)
{
	static const char temporary[] = ".d2k-writing";
	const char *name = NULL;
	int dir = open_parent(w, path, &name, e), fd, failed;

	if (dir < 0)
		return -1;
	unlinkat(dir, temporary, 0);	/* left by a run that was killed */
	fd = open_beneath(dir, temporary, O_WRONLY | O_CREAT | O_EXCL, 0600);
	failed = fd < 0 || file_write_all(fd, data, n) || fchmod(fd, mode) || fsync(fd) ||
		 renameat(dir, temporary, dir, name);
	if (failed)
		path_error(e, "write", path);
	if (fd >= 0)
		close(fd);
	if (failed)
		unlinkat(dir, temporary, 0);
	close(dir);
	return failed ? -1 : 0;
}

int workspace_write(const struct workspace *w, const char *path, const void *data, size_t n, struct err *e)
{
	return write_file(w, path, data, n, 0644, e);
}

static int count_of(const struct buf *text, const char *old, size_t len)
{
	const char *from = text->data, *end = text->data + text->len;
	int n = 0;

	while ((from = memmem(from, (size_t)(end - from), old, len))) {
		from += len;
		n++;
	}
	return n;
}

static void replace(const struct buf *text, const char *old, const char *new, struct buf *out)
{
	const char *from = text->data, *end = text->data + text->len, *at;
	size_t len = strlen(old);

	while ((at = memmem(from, (size_t)(end - from), old, len))) {
		buf_add(out, from, (size_t)(at - from));
		buf_addstr(out, new);
		from = at + len;
	}
	buf_add(out, from, (size_t)(end - from));
}

static int edit_error(const struct buf *text, const char *path, const char *old, int n, struct err *e)
{
	if (n > 1)
		return err_set(e, "'old' occurs %d times in '%s': give more of the text around it, or set all", n, path);
	if (strchr(old, '\n') && text->len && memmem(text->data, text->len, "\r\n", 2))
		return err_set(e, "'old' does not occur in '%s' (its lines end in CR LF)", path);
	return err_set(e, "'old' does not occur in '%s'; it must match byte for byte", path);
}

int workspace_edit(const struct workspace *w, const char *path, const char *old, const char *new, bool all,
		   struct err *e)
{
	struct buf text = BUF_INIT, out = BUF_INIT;
	struct stat st;
	int n = -1;

	if (!*old)
		return err_set(e, "'old' is empty");
	if (!read_file(w, path, &text, &st, e)) {
		n = text.len ? count_of(&text, old, strlen(old)) : 0;
		if (n == 0 || (n > 1 && !all)) {
			n = edit_error(&text, path, old, n, e);
		} else if (text.len + (size_t)n * strlen(new) > WORKSPACE_FILE_MAX + (size_t)n * strlen(old)) {
			n = err_set(e, "'%s' would have more than %d bytes", path, WORKSPACE_FILE_MAX);
		} else {
			replace(&text, old, new, &out);
			if (write_file(w, path, out.data, out.len, st.st_mode & 0777, e))
				n = -1;
		}
	}
	buf_release(&text);
	buf_release(&out);
	return n;
}

/* Listing --------------------------------------------------------------------------------------------------------- */

static void list_entry(int dir, const char *name, struct buf *out)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW))
		return;
	if (S_ISDIR(st.st_mode))
		buf_addf(out, "%s/\n", name);
	else if (S_ISREG(st.st_mode))
		buf_addf(out, "%s  %lld bytes\n", name, (long long)st.st_size);
	else
		buf_addf(out, "%s  (%s)\n", name, S_ISLNK(st.st_mode) ? "link, not followed" : "special file");
}

int workspace_list(const struct workspace *w, const char *path, struct buf *out, struct err *e)
{
	int dir = open_beneath(w->fd, inside(path), O_RDONLY | O_DIRECTORY, 0), n, shown = 0;
	struct dirent **entries;

	if (dir < 0)
		return path_error(e, "list", path);
	n = scandirat(dir, ".", &entries, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		const char *name = entries[i]->d_name;

		if (strcmp(name, ".") && strcmp(name, "..") && shown++ < LIST_MAX)
			list_entry(dir, name, out);
		free(entries[i]);
	}
	if (n >= 0)
		free(entries);
	close(dir);
	if (n < 0)
		return path_error(e, "list", path);
	if (shown > LIST_MAX)
		buf_addf(out, "[%d more]\n", shown - LIST_MAX);
	else if (!shown)
		buf_addstr(out, "(empty)\n");
	return 0;
}
