/* Asking for a plan to be performed once more, and performing it. */
#include "encore.h"
#include "bundle.h"
#include "emit.h"
#include "file.h"
#include "gpulock.h"
#include "json.h"
#include "oracle.h"
#include "replay.h"
#include "scan.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- asking */

/* {"task","workload","uuid","seed":"0x..","chosen":[..],"bundle":{..}} */
static void write_job(const struct encore_job *j, struct buf *out)
{
	emit_open(out, '{');
	emit_kstr(out, "task", j->task);
	emit_kstr(out, "workload", j->workload);
	emit_kstr(out, "uuid", j->uuid);
	emit_kseed(out, "seed", j->seed);
	emit_key(out, "chosen");
	emit_open(out, '[');
	for (int i = 0; i < j->steps; i++)
		emit_int(out, j->chosen ? j->chosen[i] : 0);
	emit_close(out, ']');
	emit_kraw(out, "bundle", j->bundle->data, j->bundle->len);
	emit_close(out, '}');
}

int encore_open(struct encore *x, const struct encore_job *j, struct err *e)
{
	struct buf text = BUF_INIT;
	int rc = 0;

	*x = (struct encore){ .fd = memfd_create("d2k-encore", MFD_CLOEXEC) };
	write_job(j, &text);
	if (x->fd < 0 || file_write_all(x->fd, text.data, text.len))
		rc = err_set(e, "cannot keep a job in memory:");
	buf_release(&text);
	x->program = realpath("/proc/self/exe", NULL);
	if (!rc && !x->program)
		rc = err_set(e, "cannot find this program:");
	x->path = xasprintf("/proc/%ld/fd/%d", (long)getpid(), x->fd);
	x->argv[0] = x->program;
	x->argv[1] = ENCORE_OPTION;
	x->argv[2] = x->path;
	return rc;
}

void encore_release(struct encore *x)
{
	if (x->fd >= 0)
		close(x->fd);
	free(x->program);
	free(x->path);
	*x = (struct encore){ .fd = -1 };
}

/* ---- performing */

struct performance {
	struct buf text;
	struct json *job;
	uint64_t seed;
	struct task task;
	struct workload *workloads;
	int nworkloads;
	const struct workload *workload;
	struct bundle bundle;
	struct plan *plan;
	struct gpu *gpu;
	struct engine *engine;
	struct instance in;
	struct layout l;
	struct replay replay;
	uint64_t *tensor;	/* per tensor of the task */
};

/* The process that the path names. */
static int owner(const char *path, long *pid, struct err *e)
{
	int fd, end = 0;

	if (sscanf(path, "/proc/%ld/fd/%d%n", pid, &fd, &end) != 2 || path[end] || *pid <= 0)
		return err_set(e, "'%s' is not what another d2k-time asks for", path);
	return 0;
}

static int read_job(struct performance *p, const char *path, struct err *e)
{
	static struct scan s;	/* large */
	const struct scan_member *m;
	const char *seed;

	if (file_read(path, &p->text, e) || scan_object(p->text.data ? p->text.data : "", p->text.len, &s, e))
		return -1;
	m = scan_find(&s, "bundle");
	if (!m || bundle_parse(&p->bundle, m->value.p, m->value.n, e))
		return m ? -1 : err_set(e, "the job has no bundle");
	p->job = json_parse(p->text.data, p->text.len, e);
	seed = json_get_str(p->job, "seed");
	p->seed = strtoull(seed ? seed : "", NULL, 16);
	return p->job ? 0 : -1;
}

static int find_workload(struct performance *p, struct err *e)
{
	const char *task = json_get_str(p->job, "task"), *id = json_get_str(p->job, "workload");

	if (!task || !id)
		return err_set(e, "the job names no task or no workload");
	if (task_load(&p->task, task, e) || workloads_load(&p->task, &p->workloads, &p->nworkloads, e))
		return -1;
	for (int i = 0; i < p->nworkloads; i++)
		if (!strcmp(p->workloads[i].id, id))
			p->workload = &p->workloads[i];
	p->plan = bundle_plan(&p->bundle, id);
	return p->workload && p->plan ? 0 : err_set(e, "there is no workload '%s', or no plan for it", id);
}

/* The GPU of that uuid, if its lock is held by the process that asks. */
static int open_gpu(struct performance *p, long pid, struct err *e)
{
	const char *uuid = json_get_str(p->job, "uuid");
	struct gpulock lock = { NULL, -1 };
	struct gpu_info info;
	int rc;

	for (int i = 0, n = gpu_count(e); i < n && uuid; i++) {
		p->gpu = gpu_open(i, &info, e);
		if (!p->gpu)
			return -1;
		if (!strcmp(info.uuid, uuid))
			break;
		gpu_close(p->gpu);
		p->gpu = NULL;
	}
	if (!p->gpu)
		return err_set(e, "there is no GPU %s", uuid ? uuid : "without a uuid");
	rc = gpulock_open(&lock, uuid, e) ? -1 : gpulock_try(&lock, e);
	if (rc == 0 || (rc > 0 && gpulock_holder(&lock) != pid))
		rc = err_set(e, "process %ld, which asks for this, does not hold the lock of GPU %s", pid, uuid);
	gpulock_close(&lock);
	return rc < 0 || gpu_start(p->gpu, e) ? -1 : 0;
}

static int open_oracle(struct performance *p, struct err *e)
{
	struct buf source = BUF_INIT;

	if (!oracle_source(&p->task, &source, e))
		p->engine = engine_gpu(p->gpu, &source, e);
	buf_release(&source);
	return !p->engine || instance_open(&p->in, p->engine, &p->task, p->workload, e) ||
	       bundle_fits(p->plan, &p->task, p->in.bytes, e) ? -1 : 0;
}

/* An allocation of its own for each of the plan's buffers and each kernel's scratch, which then hold whole addresses. */
static int allocate(struct performance *p, struct err *e)
{
	struct replay *r = &p->replay;
	int n = 0;

	p->tensor = xcalloc((size_t)p->task.ntensors, sizeof(*p->tensor));
	layout_init(&p->l, &p->in, replay_scratch_bytes(&p->bundle, p->plan));
	if (replay_open(r, p->gpu, &p->bundle, p->plan, &p->l, e))
		return -1;
	for (int i = 0; i < p->plan->nbuffers; i++) {
		size_t bytes = p->plan->buffers[i].bytes;
		uint64_t at;

		if (gpu_alloc(p->gpu, bytes ? bytes : 1, &at, e))
			return -1;
		r->slot[i].offset = at;
		if (p->plan->buffers[i].scratch)
			n++;
		else
			p->tensor[p->plan->buffers[i].tensor] = at;
	}
	for (int s = 0; s < p->plan->nsteps; s++)
		if (r->spare[s] && gpu_alloc(p->gpu, r->scratch.slot[n++].bytes, &r->spare[s], e))
			return -1;
	return 0;
}

static int choose(struct performance *p, struct err *e)
{
	const struct json *c = json_first(json_get(p->job, "chosen"));

	for (int i = 0; i < p->plan->nsteps; i++, c = json_next(c)) {
		long long v = json_int(c, 0);

		if (v < 0 || v >= (p->plan->steps[i].nvariants ? p->plan->steps[i].nvariants : 1))
			return err_set(e, "step %d has no variant %lld", i, v);
		p->replay.chosen[i] = (int)v;
	}
	return 0;
}

static int play(struct performance *p, struct err *e)
{
	int rc;

	if (instance_generate(&p->in, p->seed, p->tensor, e) || gpu_sync(p->gpu, e))
		return -1;
	gpu_profile(p->gpu, true);
	rc = replay_call(&p->replay, 0, e) || gpu_sync(p->gpu, e);
	gpu_profile(p->gpu, false);
	return rc ? -1 : 0;
}

int encore_perform(const char *path)
{
	static struct performance p;	/* goes with the process */
	struct err e = { "" };
	long pid;

	if (owner(path, &pid, &e) || read_job(&p, path, &e) || find_workload(&p, &e) || open_gpu(&p, pid, &e) ||
	    open_oracle(&p, &e) || allocate(&p, &e) || choose(&p, &e) || play(&p, &e)) {
		warn("%s", e.text);
		return EXIT_RECORD;
	}
	return EXIT_DONE;
}
