/* The transcript file and its lock. */
#include "transcript.h"
#include "file.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* The lock file stays: removing it would let two processes lock two files of one name. */
static enum transcript_end take_lock(struct transcript *t, const char *dir, struct err *e)
{
	char *path = xasprintf("%s/lock", dir);

	t->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	free(path);
	if (t->lock < 0) {
		err_set(e, "cannot open the lock of '%s':", dir);
		return TRANSCRIPT_BROKEN;
	}
	if (!flock(t->lock, LOCK_EX | LOCK_NB))
		return TRANSCRIPT_OK;
	if (errno == EWOULDBLOCK) {
		err_set(e, "another process works on '%s'", dir);
		return TRANSCRIPT_BUSY;
	}
	err_set(e, "cannot lock '%s':", dir);
	return TRANSCRIPT_BROKEN;
}

/* Where the last whole line ends: after its newline, and it must be JSON (a crash of the machine can leave a line of
 * zeros). */
static size_t whole_lines(const struct buf *text)
{
	const char *newline = text->len ? memrchr(text->data, '\n', text->len) : NULL, *start;
	struct json *last;

	if (!newline)
		return 0;
	start = memrchr(text->data, '\n', (size_t)(newline - text->data));
	start = start ? start + 1 : text->data;
	last = json_parse(start, (size_t)(newline - start), NULL);
	json_free(last);
	return (size_t)((last ? newline + 1 : start) - text->data);
}

static int repair(struct transcript *t, struct err *e)
{
	struct buf text = BUF_INIT;
	int failed = file_read(t->path, &text, e);

	if (!failed && whole_lines(&text) < text.len && ftruncate(t->fd, (off_t)whole_lines(&text)))
		failed = err_set(e, "cannot cut '%s':", t->path);
	buf_release(&text);
	return failed;
}

static int sync_folder(const char *dir, struct err *e)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), failed = fd < 0 || fsync(fd);

	if (failed)
		err_set(e, "cannot sync '%s':", dir);
	if (fd >= 0)
		close(fd);
	return failed ? -1 : 0;
}

enum transcript_end transcript_open(struct transcript *t, const char *dir, struct err *e)
{
	enum transcript_end end;

	t->path = NULL;
	t->fd = t->lock = -1;
	if (file_mkdirs(dir, e))
		return TRANSCRIPT_BROKEN;
	end = take_lock(t, dir, e);
	if (end != TRANSCRIPT_OK)
		return end;
	t->path = xasprintf("%s/transcript.jsonl", dir);
	t->fd = open(t->path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	if (t->fd < 0) {
		err_set(e, "cannot open '%s':", t->path);
		return TRANSCRIPT_BROKEN;
	}
	return repair(t, e) || sync_folder(dir, e) ? TRANSCRIPT_BROKEN : TRANSCRIPT_OK;
}

void transcript_close(struct transcript *t)
{
	if (t->fd >= 0)
		close(t->fd);
	if (t->lock >= 0)
		close(t->lock);
	free(t->path);
}

int transcript_read(struct transcript *t, int (*event)(const struct json *line, void *ctx, struct err *e), void *ctx,
		    struct err *e)
{
	struct buf text = BUF_INIT;
	const char *p, *newline;
	int failed = file_read(t->path, &text, e), n = 0;

	for (p = text.data; !failed && p && (newline = strchr(p, '\n')); p = newline + 1) {
		struct err why = { "" };
		struct json *line = json_parse(p, (size_t)(newline - p), &why);

		n++;
		failed = !line || event(line, ctx, &why);
		if (failed)
			err_set(e, "%s:%d: %s", t->path, n, why.text);
		json_free(line);
	}
	buf_release(&text);
	return failed ? -1 : 0;
}

int transcript_append(struct transcript *t, const struct buf *line, struct err *e)
{
	struct buf whole = BUF_INIT;
	ssize_t n;
	int failed;

	buf_addbuf(&whole, line);
	buf_addch(&whole, '\n');
	do
		n = write(t->fd, whole.data, whole.len);
	while (n < 0 && errno == EINTR);
	if (n >= 0 && n != (ssize_t)whole.len)
		errno = ENOSPC;	/* a short write says no more than that */
	failed = n != (ssize_t)whole.len || fsync(t->fd);
	buf_release(&whole);
	return failed ? err_set(e, "cannot write '%s':", t->path) : 0;
}

int transcript_hash(const struct transcript *t, char hex[HASH_HEX], struct err *e)
{
	return hash_file(t->path, hex, e);
}
