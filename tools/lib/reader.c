/* Lines of several files out of one buffer. */
#include "child.h"
#include "reader.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { READ_SIZE = 1 << 20 };

struct reader {
	char *const *files;
	int nfiles, next;	/* next file to open */
	int fd;			/* -1: none open */
	const char *name;
	unsigned long line;
	char *data;
	size_t cap, start, seen, end;	/* data[start..end) is unread, without a newline before seen */
	bool dropping;		/* in the rest of a line that was too long */
	int bad;
};

static char *const only_stdin[] = { "-" };

struct reader *reader_open(char *const *files, int n)
{
	struct reader *rd = xcalloc(1, sizeof *rd);

	rd->files = n ? files : only_stdin;
	rd->nfiles = n ? n : 1;
	rd->fd = -1;
	rd->cap = READ_SIZE;
	rd->data = xmalloc(rd->cap);
	return rd;
}

static void close_file(struct reader *rd)
{
	if (rd->fd > STDIN_FILENO)
		close(rd->fd);
	rd->fd = -1;
}

void reader_close(struct reader *rd)
{
	close_file(rd);
	free(rd->data);
	free(rd);
}

int reader_bad(const struct reader *rd)
{
	return rd->bad;
}

static void too_long(struct reader *rd)
{
	warn("%.250s:%lu: line of %d MiB or longer", rd->name, rd->line, FILTER_LINE_MAX >> 20);
	rd->bad++;
}

int reader_line(struct reader *rd, struct span *line)
{
	char *newline;

	while ((newline = memchr(rd->data + rd->seen, '\n', rd->end - rd->seen))) {
		bool dropped = rd->dropping;

		*line = (struct span){ rd->data + rd->start, (size_t)(newline - rd->data) - rd->start };
		rd->start = rd->seen = (size_t)(newline - rd->data) + 1;
		rd->dropping = false;
		if (dropped)
			continue;
		rd->line++;
		if (line->n < FILTER_LINE_MAX)
			return 1;
		too_long(rd);
	}
	rd->seen = rd->end;
	return 0;
}

int reader_record(struct reader *rd, struct span line, struct record *r)
{
	struct err e;

	snprintf(r->where, sizeof r->where, "%.250s:%lu", rd->name, rd->line);
	if (record_open(r, line.p, line.n, &e) == 0)
		return 0;
	warn("%s: %s", r->where, e.text);
	rd->bad++;
	return -1;
}

int reader_next(struct reader *rd, struct record *r, int *bad)
{
	struct span line;
	int more = 1;

	while (more) {
		while (reader_line(rd, &line))
			if (reader_record(rd, line, r) == 0)
				return 1;
		more = reader_fill(rd);
		*bad = rd->bad;
	}
	return 0;
}

static void open_next(struct reader *rd)
{
	const char *file = rd->files[rd->next++];
	bool is_stdin = !strcmp(file, "-");

	rd->name = is_stdin ? "<stdin>" : file;
	rd->line = 0;
	rd->fd = is_stdin ? STDIN_FILENO : open(file, O_RDONLY | O_CLOEXEC);
	if (rd->fd < 0) {
		warn("cannot open '%s':", file);
		rd->bad++;
		return;
	}
	fcntl(rd->fd, F_SETPIPE_SZ, READ_SIZE);	/* where it is a pipe: fewer switches between its ends */
}

/* Makes room for reading: moves the unread part to the front, doubles the buffer when a line fills it, and drops a
 * line that has reached the limit. */
static void make_room(struct reader *rd)
{
	size_t unread = rd->end - rd->start;

	if (!rd->dropping && unread >= FILTER_LINE_MAX) {
		rd->line++;
		too_long(rd);
		rd->dropping = true;
	}
	if (rd->dropping)
		unread = 0;
	if (rd->start || rd->dropping)	/* a long line that stays where it is must not be copied for each read */
		memmove(rd->data, rd->data + rd->end - unread, unread);
	rd->start = 0;
	rd->seen = rd->end = unread;
	if (rd->cap - rd->end < READ_SIZE / 2)
		rd->data = xgrow(rd->data, &rd->cap, rd->end + READ_SIZE, 1);
}

/* The end of a file ends its last line, with or without a newline. */
static void end_file(struct reader *rd)
{
	close_file(rd);
	if (rd->end > rd->start)
		rd->data[rd->end++] = '\n';
	rd->dropping = false;
}

/* read(), which waits even where somebody made the descriptor non-blocking. An interrupt ends what somebody types; a
 * pipe is read to its end, since what it still brings must be passed on. */
static ssize_t read_some(int fd, char *p, size_t n)
{
	struct pollfd in = { .fd = fd, .events = POLLIN };
	ssize_t got;

	while ((got = read(fd, p, n)) < 0 && (errno == EINTR || errno == EAGAIN)) {
		if (errno == EAGAIN)
			poll(&in, 1, -1);
		if (child_interrupted && isatty(fd))
			return 0;
	}
	return got;
}

int reader_fill(struct reader *rd)
{
	ssize_t n;

	while (rd->fd < 0) {
		if (rd->next == rd->nfiles)
			return 0;
		open_next(rd);
	}
	make_room(rd);
	n = read_some(rd->fd, rd->data + rd->end, rd->cap - rd->end - 1);
	if (n < 0) {
		warn("cannot read '%s':", rd->name);
		rd->bad++;
	}
	if (n <= 0)
		end_file(rd);
	else
		rd->end += (size_t)n;
	return 1;
}
