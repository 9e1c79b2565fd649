/* The interpreter path. */
#include "cpurun.h"
#include "child.h"
#include "emit.h"
#include "exam.h"
#include "file.h"
#include "json.h"
#include "progress.h"
#include "sandbox.h"
#include "tolerance.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define INSIDE "/d2k"	/* where the sandbox shows the Python files */

struct bench {
	const struct job *job;
	const char *source;
	struct engine *engine;
	struct instance in;
	struct layout l;
	struct result r;
	int memory;			/* memfd of the set */
	struct set set, pristine;
};

int cpurun_prepare(const struct task *t, struct err *e)
{
	struct buf source = BUF_INIT;
	struct engine *x = NULL;

	if (!oracle_source(t, &source, e))
		x = engine_host(&source, e);
	buf_release(&source);
	engine_close(x);
	return x ? 0 : -1;
}

/* A memory file that no one can shrink under us. */
static int share_memory(struct bench *b, struct err *e)
{
	void *p;

	b->memory = memfd_create("d2k-set", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (b->memory < 0 || ftruncate(b->memory, (off_t)b->l.size) ||
	    fcntl(b->memory, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return err_set(e, "cannot make shared memory:");
	p = mmap(NULL, b->l.size, PROT_READ | PROT_WRITE, MAP_SHARED, b->memory, 0);
	if (p == MAP_FAILED)
		return err_set(e, "cannot map shared memory:");
	b->set.base = (uint64_t)(uintptr_t)p;
	return engine_alloc(b->engine, b->l.size, &b->pristine.base, e);
}

static int open_bench(struct bench *b, const struct workload *w, struct err *e)
{
	struct buf source = BUF_INIT;

	if (!oracle_source(b->job->task, &source, e))
		b->engine = engine_host(&source, e);
	buf_release(&source);
	if (!b->engine || instance_open(&b->in, b->engine, b->job->task, w, e))
		return -1;
	layout_init(&b->l, &b->in, 0);
	return share_memory(b, e);
}

/* {"source","tensors":[{"name","dtype","shape","role","offset"}],"params":{}} */
static int write_job(const struct bench *b, struct buf *out, struct err *e)
{
	const struct task *t = b->job->task;

	emit_open(out, '{');
	emit_kstr(out, "source", b->source);
	emit_key(out, "tensors");
	emit_open(out, '[');
	for (int i = 0; i < t->ntensors; i++) {
		long long shape[TASK_DIMS], n;

		if (tensor_elements(&t->tensors[i], b->in.workload, shape, &n, e))
			return -1;
		emit_open(out, '{');
		emit_kstr(out, "name", t->tensors[i].name);
		emit_kstr(out, "dtype", dtype_name[t->tensors[i].dtype]);
		emit_kstr(out, "role", role_name[t->tensors[i].role]);
		emit_kint(out, "offset", (long long)b->l.tensor[i].offset);
		emit_key(out, "shape");
		emit_open(out, '[');
		for (int d = 0; d < t->tensors[i].ndim; d++)
			emit_int(out, shape[d]);
		emit_close(out, ']');
		emit_close(out, '}');
	}
	emit_close(out, ']');
	emit_kraw(out, "params", b->in.workload->params, strlen(b->in.workload->params));
	emit_close(out, '}');
	return 0;
}

static int sandbox(struct sandbox *s, struct argv *argv, double seconds, struct err *e)
{
	char *tools = file_in_root("tools/triton");
	int rc = -1;

	*s = (struct sandbox){ .cwd = "/tmp", .memory = 16ULL << 30, .processes = 128, .file_size = 1 << 20,
			       .cpu = 4 * seconds };
	sandbox_ro(s, tools, INSIDE);
	sandbox_env(s, "HOME", "/tmp");
	sandbox_env(s, "LANG", "C.UTF-8");
	if (!sandbox_python(s, e) && !sandbox_command(s, argv, e)) {
		argv_add(argv, file_python());
		argv_add(argv, "-sB");	/* without the user's packages, writing no .pyc files */
		argv_add(argv, INSIDE "/interpret.py");
		rc = 0;
	}
	free(tools);
	return rc;
}

/* What the interpreter says, as a status of ours. */
static void take_answer(struct bench *b, struct child_result *c)
{
	bool started = child_take_ready(c);
	struct err e;
	struct json *j = started && c->end == CHILD_EXITED && !c->code ?
			 json_parse(c->result.data, c->result.len, &e) : NULL;
	const char *status = json_get_str(j, "status"), *message = json_get_str(j, "message");

	if (!started)
		result_fail(&b->r, TIME_TOOL_ERROR, "the interpreter (%s) did not start: %s %d: %.300s", file_python(),
			    child_end_name[c->end], c->code, child_last_words(c));
	else if (c->end == CHILD_TIMEOUT)
		result_fail(&b->r, TIME_TIMEOUT, "the run had not ended after %.0f s", c->seconds);
	else if (!status)
		result_fail(&b->r, TIME_FAULT, "the run ended without an answer (%s %d): %.300s",
			    child_end_name[c->end], c->code,
			    c->err.len ? c->err.data : "no message");
	else if (!strcmp(status, "unsupported"))
		result_fail(&b->r, TIME_UNSUPPORTED, "%s", message ? message : status);
	else if (strcmp(status, "ok"))
		result_fail(&b->r, TIME_FAULT, "%s: %s", status, message ? message : "");
	json_free(j);
}

static int interpret(struct bench *b, double seconds, struct err *e)
{
	/* the sandbox's own first process shows its environment to those inside */
	char *const bare[] = { "PATH=/usr/local/bin:/usr/bin:/bin", NULL };
	struct sandbox s = { 0 };
	struct argv argv = { 0 };
	struct buf input = BUF_INIT;
	struct child_result c = { 0 };
	int rc = -1;

	if (!sandbox(&s, &argv, seconds, e) && !write_job(b, &input, e)) {
		struct child child = { .argv = argv.v, .env = bare, .input = input.data, .input_len = input.len,
				       .timeout = seconds, .max_output = 1 << 16, .result_fd = true,
				       .pass_fd = b->memory };

		rc = child_run(&child, &c, e);
	}
	if (!rc)
		take_answer(b, &c);
	child_result_release(&c);
	buf_release(&input);
	argv_release(&argv);
	sandbox_release(&s);
	return rc;
}

static void examine(struct bench *b)
{
	const struct exam x = { .l = &b->l, .set = &b->set, .pristine = &b->pristine, .keep = &b->r };
	struct buf words = BUF_INIT;
	struct err e = { "" };
	int rc = set_pristine(&b->l, &b->pristine, &b->set, &e) ? -1 : exam_run(&x, &words, &e);

	if (rc < 0)
		result_fail(&b->r, TIME_TOOL_ERROR, "%s", e.text);
	else if (rc > 0)
		result_fail(&b->r, TIME_WRONG, "%s", words.data);
	buf_release(&words);
}

static void run_seed(struct bench *b, int n)
{
	uint64_t seed = b->job->seeds[n];
	struct err e = { "" };

	if (set_make(&b->l, &b->set, seed, n % 2 ? ~seed & ~1ULL : ~seed | 1, &e) || interpret(b, b->job->hang, &e))
		result_fail(&b->r, TIME_TOOL_ERROR, "%s", e.text);
	else if (b->r.status == TIME_CORRECT)
		examine(b);
	if (b->r.status != TIME_CORRECT) {
		b->r.has_seed = true;
		b->r.seed = seed;
	}
}

/* Each seed's result is one of its own. The last stands for the workload, unless one before failed in another way than
 * by being wrong. */
static void tell_seeds(struct bench *b, int fd)
{
	const char *id = b->r.id;

	for (int n = 0; n < b->job->nseeds && (b->r.status == TIME_CORRECT || b->r.status == TIME_WRONG); n++) {
		result_release(&b->r);
		result_init(&b->r, id);
		run_seed(b, n);
		tolerance_tell(fd, &b->r, b->job->seeds[n]);
	}
}

int cpurun(const struct job *job, const char *source, int i, int fd)
{
	struct bench b = { .job = job, .source = source, .memory = -1 };
	struct buf json = BUF_INIT;
	struct err e = { "" };

	result_init(&b.r, job->workloads[i]->id);
	if (open_bench(&b, job->workloads[i], &e)) {
		result_fail(&b.r, TIME_TOOL_ERROR, "%s", e.text);
	} else {
		b.r.least_bytes = b.in.least_bytes;
		b.r.least_flops = b.in.least_flops;
	}
	if (job->tolerance)
		tell_seeds(&b, fd);
	else
		for (int n = 0; n < job->nseeds && b.r.status == TIME_CORRECT; n++)
			run_seed(&b, n);
	result_emit(&json, &b.r, &b.in);
	progress_say(fd, PROGRESS_RESULT, json.data);
	return 0;
}
