/* Runs the recorder in the sandbox and makes sense of how it ended. */
#include "recorder.h"
#include "emit.h"
#include "file.h"
#include "opt.h"
#include "sandbox.h"
#include "scan.h"
#include "utf8.h"
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum {
	MAX_RESULT = 60 << 20,		/* bytes of a bundle: below what a record's line may have */
	MAX_MESSAGE = 32 << 10,		/* bytes of the recorder's words in the log */
	MAX_PRINTED = 2000,		/* bytes of the submission's prints in the log */
	MAX_DIAGNOSTICS = 6000,		/* bytes of the compiler's stderr in the log */
	PROCESSES = 512
};
#define MEMORY ((size_t)8 << 30)	/* address space of one process, bytes */
#define FILE_SIZE ((size_t)256 << 20)
#define INSIDE "/d2k"			/* where the sandbox shows the Python files */

static const char *const python_files[] = { "record.py", "kernels.py", "gate.py", "load.py", "d2k.py", NULL };

const char *const build_status_name[BUILD_STATUSES] = {
	[BUILD_OK] = "ok",
	[BUILD_NO_SUBMISSION] = "no_submission",
	[BUILD_SYNTAX_ERROR] = "syntax_error",
	[BUILD_FORBIDDEN_IMPORT] = "forbidden_import",
	[BUILD_COMPILE_ERROR] = "compile_error",
	[BUILD_OUT_OF_RESOURCES] = "out_of_resources",
	[BUILD_HOST_READS_TENSOR] = "host_reads_tensor",
	[BUILD_NO_LAUNCH] = "no_launch",
	[BUILD_UNSTABLE_PLAN] = "unstable_plan",
	[BUILD_HOST_ERROR] = "host_error",
	[BUILD_TIMEOUT] = "timeout",
	[BUILD_CRASHED] = "crashed",
	[BUILD_TOOL_ERROR] = "tool_error",
};

/* ---- what decides the outcome */

/* The name of the folder that pip left, such as triton-3.9.0.dist-info; a Python elsewhere is told by its path. */
static void add_triton(struct hash_parts *h)
{
	char *python = xstrdup(file_python()), *slash = strrchr(python, '/'), *pattern;
	glob_t found = { 0 };

	if (slash)
		*slash = '\0';
	pattern = xasprintf("%s/../lib/python3*/site-packages/triton-*.dist-info", python);
	if (glob(pattern, 0, NULL, &found) == 0)
		hash_partstr(h, "triton", strrchr(found.gl_pathv[0], '/'));
	else
		hash_partstr(h, "python", file_python());
	globfree(&found);
	free(pattern);
	free(python);
}

int recorder_version(char hex[HASH_HEX], struct err *e)
{
	struct hash_parts h = { BUF_INIT };
	struct buf b = BUF_INIT;
	int failed = 0;

	hash_partstr(&h, "tool", D2K_VERSION);
	add_triton(&h);
	for (const char *const *f = python_files; *f && !failed; f++) {
		char *path = file_in_root("tools/triton/%s", *f);

		buf_reset(&b);
		failed = file_read(path, &b, e);
		hash_part(&h, *f, b.data, b.len);
		free(path);
	}
	buf_release(&b);
	hash_done(&h, hex);
	return failed;
}

/* ---- the job */

static int add_tensors(struct buf *b, const struct task *t, const struct workload *w, struct err *e)
{
	long long shape[TASK_DIMS], n;

	emit_key(b, "tensors");
	emit_open(b, '[');
	for (const struct tensor *x = t->tensors; x < t->tensors + t->ntensors; x++) {
		if (tensor_elements(x, w, shape, &n, e))
			return -1;
		emit_open(b, '{');
		emit_kstr(b, "name", x->name);
		emit_kstr(b, "dtype", dtype_name[x->dtype]);
		emit_kstr(b, "role", role_name[x->role]);
		emit_key(b, "shape");
		emit_open(b, '[');
		for (int d = 0; d < x->ndim; d++)
			emit_int(b, shape[d]);
		emit_close(b, ']');
		emit_close(b, '}');
	}
	emit_close(b, ']');
	return 0;
}

/* Parameters go to Python as they are written: 1 is an int there, 1.0 a float. */
static int add_params(struct buf *b, const char *line, size_t n, struct err *e)
{
	const struct scan_member *m;
	struct scan s;

	if (scan_object(line, n, &s, e))
		return -1;
	m = scan_find(&s, "params");
	emit_kraw(b, "params", m ? m->value.p : "{}", m ? m->value.n : 2);
	return 0;
}

/* w: the file's workloads, one a line, in its order. */
static int add_workloads(struct buf *b, const struct task *t, const char *tier, const struct workload *w, int n,
			 const struct buf *lines, struct err *e)
{
	const char *line = lines->data, *end = line + lines->len;
	int added = 0;

	for (int i = 0; i < n && line < end; i++) {
		size_t len = strcspn(line, "\n");

		if (!strcmp(tier, "all") || !strcmp(tier, w[i].tier)) {
			emit_open(b, '{');
			emit_kstr(b, "id", w[i].id);
			if (add_params(b, line, len, e) || add_tensors(b, t, &w[i], e))
				return -1;
			emit_close(b, '}');
			added++;
		}
		line += len + 1;
	}
	return added ? 0 : err_set(e, "task '%s' has no workload of tier '%s'", t->name, tier);
}

static int make_job(struct buf *b, const struct task *t, const char *tier, const char *target, const char *source,
		    struct err *e)
{
	char *path = file_in_root("workloads/%s.jsonl", t->name);
	struct workload *w = NULL;
	struct buf lines = BUF_INIT;
	int n = 0, failed = workloads_load(t, &w, &n, e) || file_read(path, &lines, e);

	if (!failed) {
		emit_open(b, '{');
		emit_kstr(b, "source", source);
		emit_kstr(b, "target", target);
		emit_key(b, "workloads");
		emit_open(b, '[');
		failed = add_workloads(b, t, tier, w, n, &lines, e);
		emit_close(b, ']');
		emit_close(b, '}');
	}
	workloads_free(w, n);
	buf_release(&lines);
	free(path);
	return failed ? -1 : 0;
}

int recorder_prepare(struct recorder *r, const struct task *t, const char *tier, const char *target, const char *source,
		     double timeout, struct err *e)
{
	struct sandbox s = { .cwd = "/tmp", .memory = MEMORY, .processes = PROCESSES, .file_size = FILE_SIZE };
	char *python = file_in_root("tools/triton");
	int failed;

	sandbox_env(&s, "HOME", "/tmp");
	sandbox_env(&s, "LANG", "C.UTF-8");
	sandbox_env(&s, "PYTHONHASHSEED", "0"); /* the same bundle whenever it is built */
	sandbox_ro(&s, python, INSIDE);
	r->timeout = timeout;
	failed = make_job(&r->job, t, tier, target, source, e) || sandbox_python(&s, e) ||
		 sandbox_command(&s, &r->command, e);
	if (!failed) {
		argv_add(&r->command, file_python());
		argv_add(&r->command, "-sB"); /* without the user's packages, writing no .pyc files */
		argv_add(&r->command, INSIDE "/record.py");
	}
	sandbox_release(&s);
	free(python);
	return failed ? -1 : 0;
}

/* ---- the result */

static void add_bounded(struct buf *log, const char *title, const struct buf *b, size_t max)
{
	const char *p = b->data;
	size_t n = b->len;

	while (n > 0 && (p[n - 1] == '\n' || p[n - 1] == ' '))
		n--;
	if (n == 0)
		return;
	if (log->len)
		buf_addch(log, '\n');
	buf_addf(log, "%s:\n", title);
	buf_add(log, p, n < max ? n : max);
	if (n > max)
		buf_addf(log, "\n[%zu bytes more]", n - max);
}

static void add_message(struct buf *log, const char *message)
{
	size_t n = message ? strlen(message) : 0;

	while (n > 0 && message[n - 1] == '\n')
		n--;
	if (n > MAX_MESSAGE)
		buf_addf(log, "%.*s\n[%zu bytes more]", (int)utf8_cut(message, n, MAX_MESSAGE), message,
			 n - utf8_cut(message, n, MAX_MESSAGE));
	else
		buf_add(log, message ? message : "", n);
}

/* What would excuse a submission is not for its own process to say. */
static bool read_status(struct recorder *r)
{
	const char *name = json_get_str(r->tree, "status");

	for (int i = 0; name && i < BUILD_STATUSES; i++)
		if (!strcmp(name, build_status_name[i]) && i != BUILD_NO_SUBMISSION && i != BUILD_TIMEOUT &&
		    i != BUILD_TOOL_ERROR) {
			r->status = i;
			return true;
		}
	return false;
}

static void without_result(struct recorder *r, const struct child_result *c)
{
	r->status = BUILD_CRASHED;
	if (c->result.len)
		buf_addstr(&r->log, "what the recorder wrote cannot be read; "
				    "a submission must leave its file descriptors alone");
	else if (c->end == CHILD_SIGNALED)
		buf_addf(&r->log, "the process that ran the submission was killed by signal %d (%s)", c->code,
			 strsignal(c->code));
	else
		buf_addf(&r->log, "the process that ran the submission ended (exit status %d) "
			 "before its plan was written", c->code);
}

static void read_result(struct recorder *r, struct child_result *c)
{
	struct err ignored;
	bool diagnose;

	if (!child_take_ready(c)) {
		r->status = BUILD_TOOL_ERROR;
		buf_addf(&r->log, "the recorder (%s) did not start: %s %d: %s", file_python(), child_end_name[c->end],
			 c->code, child_last_words(c));
		return;
	}
	r->tree = c->result.len ? json_parse(c->result.data, c->result.len, &ignored) : NULL;
	if (c->end == CHILD_TIMEOUT) {
		r->status = BUILD_TIMEOUT;
		buf_addf(&r->log, "not built after %g s", r->timeout);
	} else if (c->result.len >= MAX_RESULT) {
		r->status = BUILD_HOST_ERROR;
		buf_addf(&r->log, "kernels and plans take more than %d MiB; "
			 "fewer kernels, configurations or launches are needed", MAX_RESULT >> 20);
	} else if (read_status(r)) {
		add_message(&r->log, json_get_str(r->tree, "message"));
	} else {
		without_result(r, c);
	}
	diagnose = r->status == BUILD_COMPILE_ERROR || r->status == BUILD_OUT_OF_RESOURCES ||
		   r->status == BUILD_CRASHED || r->status == BUILD_TOOL_ERROR;
	if (diagnose)
		add_bounded(&r->log, "from the compiler", &c->err, MAX_DIAGNOSTICS);
	add_bounded(&r->log, "printed by the submission", &c->out, MAX_PRINTED);
	if (r->status == BUILD_OK) {
		r->text = c->result;
		c->result = (struct buf)BUF_INIT;
	}
}

void recorder_run(struct recorder *r)
{
	struct child c = {
		.argv = r->command.v, .input = r->job.data, .input_len = r->job.len, .timeout = r->timeout,
		.max_output = MAX_RESULT, .result_fd = true,
	};
	struct child_result result = { .end = CHILD_NOT_STARTED };
	struct err e;

	if (child_run(&c, &result, &e)) {
		r->status = BUILD_TOOL_ERROR;
		buf_addstr(&r->log, e.text);
	} else {
		read_result(r, &result);
	}
	r->seconds = result.seconds;
	child_result_release(&result);
}

void recorder_release(struct recorder *r)
{
	argv_release(&r->command);
	buf_release(&r->job);
	buf_release(&r->log);
	buf_release(&r->text);
	json_free(r->tree);
}
