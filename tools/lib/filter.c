/* The loop every tool shares.
 *
 * Lines that pass are written straight from the reader's buffer, neighbours in one write. They go out before anything
 * that may take time: before the reader waits for input, and before a record is processed. */
#include "child.h"
#include "reader.h"
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct run {
	const struct filter *f;
	struct span pending;	/* lines with their newlines, in the reader's buffer */
	bool bad, again, stopped;
};

static void write_out(const char *p, size_t n)
{
	struct pollfd out = { .fd = STDOUT_FILENO, .events = POLLOUT };
	ssize_t done;

	for (; n > 0; p += done, n -= (size_t)done) {
		done = write(STDOUT_FILENO, p, n);
		if (done < 0 && errno == EAGAIN)
			poll(&out, 1, -1);
		else if (done < 0 && errno != EINTR)
			die("cannot write to stdout:");
		if (done < 0)
			done = 0;
	}
}

static void flush(struct run *run)
{
	write_out(run->pending.p, run->pending.n);
	run->pending.n = 0;
}

static void pass(struct run *run, struct span line)
{
	if (run->pending.n && run->pending.p + run->pending.n != line.p)
		flush(run);
	if (run->pending.n == 0)
		run->pending.p = line.p;
	run->pending.n += line.n + 1;
}

/* The finished line must be one that every tool reads; -1 when the section breaks that. */
static int finish(const struct record *r, const char *section, struct buf *value, struct buf *out)
{
	struct scan ignored;
	struct err e;
	char *p = value->data;

	/* JSON that came from elsewhere may be spread over lines; outside strings a newline is as good as a space */
	while (p && (p = memchr(p, '\n', value->len - (size_t)(p - value->data))))
		*p = ' ';
	record_put(r, section, value, out);
	if (scan_object(out->data, out->len, &ignored, &e)) {
		warn("%s: section '%s' is unusable: %s", r->where, section, e.text);
		return -1;
	}
	if (out->len >= FILTER_LINE_MAX) {
		warn("%s: with its section '%s' the line has %d MiB or more", r->where, section, FILTER_LINE_MAX >> 20);
		return -1;
	}
	buf_addch(out, '\n');
	return 0;
}

static enum filter_result process(struct run *run, const struct record *r, struct buf *out)
{
	const struct filter *f = run->f;
	struct buf value = BUF_INIT;
	enum filter_result result;

	if (run->stopped || (record_has(r, f->section) && !f->redo))
		return FILTER_PASS;
	flush(run);
	if (child_interrupted)
		return FILTER_STOP;
	result = f->process(r, &value, f->ctx);
	if (result == FILTER_ADD && finish(r, f->section, &value, out))
		result = FILTER_BAD;
	buf_release(&value);
	return result;
}

static void one_record(struct run *run, const struct record *r)
{
	struct buf out = BUF_INIT;
	enum filter_result result = process(run, r, &out);

	run->bad |= result == FILTER_BAD;
	run->again |= result == FILTER_AGAIN || result == FILTER_STOP;
	run->stopped |= result == FILTER_STOP;
	if (result == FILTER_ADD)
		write_out(out.data, out.len);
	else
		pass(run, (struct span){ r->line, r->len });
	buf_release(&out);
}

int filter_run(const struct filter *f, char *const *files, int n)
{
	struct reader *rd = reader_open(files, n);
	struct run run = { .f = f };
	struct record r;
	struct span line;

	do {
		while (reader_line(rd, &line))
			if (reader_record(rd, line, &r) == 0)
				one_record(&run, &r);
		flush(&run);
	} while (reader_fill(rd));
	run.bad |= reader_bad(rd) > 0;
	reader_close(rd);
	stdout_close();
	return run.again || child_interrupted ? EXIT_AGAIN : run.bad ? EXIT_RECORD : EXIT_DONE;
}

void stdout_close(void)
{
	if (ferror(stdout) || fclose(stdout))
		die("cannot write to stdout:");
}
