/* The interpreter path. */
#include "cpurun.h"
#include "child.h"
#include "emit.h"
#include "file.h"
#include "json.h"
#include "result.h"
#include "sandbox.h"
#include "sets.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct bench {
	const struct job *job;
	const char *source;
	struct engine *engine;
	struct instance in;
	struct layout l;
	struct result r;
	int memory;		/* memfd of one set */
	uint64_t set, pristine;
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
	b->set = (uint64_t)(uintptr_t)p;
	return engine_alloc(b->engine, b->l.size, &b->pristine, e);
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

/* Poison and inputs of a seed into the set at base. */
static int prepare(struct bench *b, uint64_t base, uint64_t seed, bool nan, struct err *e)
{
	uint64_t *tensors = xcalloc((size_t)b->l.ntensors + 1, sizeof(*tensors));
	int rc;

	set_addresses(&b->l, base, tensors);
	rc = set_poison(b->engine, &b->l, base, ~seed, e);
	for (int t = 0; t < b->l.ntensors && nan; t++)
		if (b->job->task->tensors[t].role == ROLE_OUT)
			memset((void *)(uintptr_t)tensors[t], 0xff, b->l.tensor[t].bytes);
	rc = rc || instance_generate(&b->in, seed, tensors, e);
	free(tensors);
	return rc ? -1 : 0;
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
	emit_key(out, "params");
	emit_open(out, '{');
	for (int i = 0; i < t->nparams; i++)
		emit_knum(out, t->params[i], b->in.workload->vars[t->ndims + i].value);
	emit_close(out, '}');
	emit_close(out, '}');
	return 0;
}

static int sandbox(struct sandbox *s, struct argv *argv, double seconds, struct err *e)
{
	char *tools = file_in_root("tools/triton");
	int rc = -1;

	*s = (struct sandbox){ .cwd = "/tmp", .memory = 16ULL << 30, .processes = 128, .file_size = 1 << 20,
		.cpu = 4 * seconds };
	sandbox_ro(s, tools, tools);
	sandbox_env(s, "HOME", "/tmp");
	sandbox_env(s, "PYTHONDONTWRITEBYTECODE", "1");
	if (!sandbox_python(s, e) && !sandbox_command(s, argv, e)) {
		argv_add(argv, file_python());
		argv_addf(argv, "%s/interpret.py", tools);
		rc = 0;
	}
	free(tools);
	return rc;
}

/* What the interpreter says, as a status of ours. */
static void take_answer(struct bench *b, const struct child_result *c)
{
	struct err e;
	struct json *j = c->end == CHILD_EXITED && !c->code ? json_parse(c->result.data ? c->result.data : "",
									 c->result.len, &e) : NULL;
	const char *status = json_get_str(j, "status"), *message = json_get_str(j, "message");

	if (c->end == CHILD_TIMEOUT)
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
	struct sandbox s = { 0 };
	struct argv argv = { 0 };
	struct buf input = BUF_INIT;
	struct child_result c = { 0 };
	int rc = -1;

	if (!sandbox(&s, &argv, seconds, e) && !write_job(b, &input, e)) {
		struct child child = { .argv = argv.v, .input = input.data, .input_len = input.len, .timeout = seconds,
				       .max_output = 1 << 16, .result_fd = true, .pass_fd = b->memory };

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

/* Outputs, inputs and guard bands after the run. */
static void judge(struct bench *b, uint64_t seed)
{
	struct buf words = BUF_INIT;
	struct err e = { "" };
	int rc = 0, wrong = 0;

	for (int t = 0; t < b->l.ntensors && !rc; t++) {
		struct output o;

		if (b->job->task->tensors[t].role == ROLE_IN)
			continue;
		rc = compare_output(&b->in, t, b->set + b->l.tensor[t].offset, &o, &e);
		if (rc)
			break;
		result_keep(&b->r, &o);
		if (!o.ok) {
			if (wrong++)
				buf_addstr(&words, "; ");
			compare_words(&words, &b->in, &o);
		}
	}
	if (!rc && !wrong)
		rc = set_inputs(b->engine, &b->l, &b->in, b->set, b->pristine, &words, &e);
	if (!rc && !wrong)
		rc = set_bands(b->engine, &b->l, &b->in, NULL, NULL, 0, b->set, ~seed, &words, &e);
	if (rc < 0)
		result_fail(&b->r, TIME_TOOL_ERROR, "%s", e.text);
	else if (rc || wrong)
		result_fail(&b->r, TIME_WRONG, "%s", words.data);
	buf_release(&words);
}

static void run_seed(struct bench *b, int n)
{
	uint64_t seed = b->job->seeds[n], *tensors = xcalloc((size_t)b->l.ntensors + 1, sizeof(*tensors));
	struct err e = { "" };

	set_addresses(&b->l, b->pristine, tensors);
	if (prepare(b, b->set, seed, n % 2 == 0, &e) || interpret(b, b->job->hang, &e)) {
		result_fail(&b->r, TIME_TOOL_ERROR, "%s", e.text);
	} else if (b->r.status == TIME_CORRECT) {
		if (prepare(b, b->pristine, seed, false, &e) || instance_reference(&b->in, seed, tensors, &e))
			result_fail(&b->r, TIME_TOOL_ERROR, "%s", e.text);
		else
			judge(b, seed);
	}
	if (b->r.status != TIME_CORRECT) {
		b->r.has_seed = true;
		b->r.seed = seed;
	}
	free(tensors);
}

int cpurun(const struct job *job, const char *source, int i, int fd)
{
	struct bench b = { .job = job, .source = source, .memory = -1 };
	struct buf json = BUF_INIT, out = BUF_INIT;
	struct err e = { "" };
	size_t done = 0;

	result_init(&b.r, job->workloads[i]->id);
	if (open_bench(&b, job->workloads[i], &e)) {
		result_fail(&b.r, TIME_TOOL_ERROR, "%s", e.text);
	} else {
		b.r.least_bytes = b.in.least_bytes;
		b.r.least_flops = b.in.least_flops;
	}
	for (int n = 0; n < job->nseeds && b.r.status == TIME_CORRECT; n++)
		run_seed(&b, n);
	result_emit(&json, &b.r, &b.in);
	buf_addf(&out, "R %s\n", json.data);
	while (done < out.len) {
		ssize_t w = write(fd, out.data + done, out.len - done);

		if (w < 0)
			return 1;
		done += (size_t)w;
	}
	return 0;
}
