/* Oracles by hand. */
#include "oraclefile.h"
#include "element.h"
#include "emit.h"
#include "file.h"
#include "sets.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One workload's inputs and references on the host. */
struct view {
	struct engine *engine;
	struct instance in;
	struct layout l;
	uint64_t set, *tensors;
};

static int view_open(struct view *v, const struct task *t, const struct workload *w, uint64_t seed, struct err *e)
{
	struct buf source = BUF_INIT;

	*v = (struct view){ 0 };
	if (!oracle_source(t, &source, e))
		v->engine = engine_host(&source, e);
	buf_release(&source);
	if (!v->engine || instance_open(&v->in, v->engine, t, w, e))
		return -1;
	layout_init(&v->l, &v->in, 0);
	v->tensors = xcalloc((size_t)t->ntensors + 1, sizeof(*v->tensors));
	if (engine_alloc(v->engine, v->l.size, &v->set, e))
		return -1;
	set_addresses(&v->l, v->set, v->tensors);
	if (instance_generate(&v->in, seed, v->tensors, e))
		return -1;
	return instance_reference(&v->in, seed, v->tensors, e);
}

static void view_close(struct view *v)
{
	if (v->in.task)
		instance_release(&v->in);
	layout_release(&v->l);
	free(v->tensors);
	engine_close(v->engine);
}

static void describe(struct buf *out, const char *name, enum dtype t, const void *data, long long n)
{
	double least = INFINITY, greatest = -INFINITY, sum = 0;
	long long odd = 0, zeros = 0;
	char hash[HASH_HEX];

	for (long long i = 0; i < n; i++) {
		double x = element_get(t, (const char *)data + (size_t)i * dtype_size[t]);

		if (!isfinite(x)) {
			odd++;
			continue;
		}
		least = fmin(least, x);
		greatest = fmax(greatest, x);
		sum += x * x;
		zeros += x == 0;
	}
	hash_hex(data, (size_t)n * dtype_size[t], hash);
	buf_addf(out,
		 "  %-16s %-14s %10lld elements  min %-12.6g max %-12.6g rms %-12.6g zero %lld  not finite %lld"
		 "  %.12s\n", name,
		 dtype_name[t], n, least, greatest, sqrt(sum / (n - odd > 0 ? (double)(n - odd) : 1)), zeros, odd,
			hash);
}

static int check_workload(const struct task *t, const struct workload *w, uint64_t seed, struct buf *out, struct err *e)
{
	struct view v;
	int rc = view_open(&v, t, w, seed, e);

	if (!rc)
		buf_addf(out, "%s (%s): least traffic %.6g bytes, least arithmetic %.6g flops\n", w->id, w->tier,
			 v.in.least_bytes, v.in.least_flops);
	for (int i = 0; i < t->ntensors && !rc; i++) {
		char *ref = xasprintf("ref_%s", t->tensors[i].name);

		if (t->tensors[i].role != ROLE_OUT)
			describe(out, t->tensors[i].name, t->tensors[i].dtype, (const void *)(uintptr_t)v.tensors[i],
				 v.in.elements[i]);
		if (t->tensors[i].role != ROLE_IN)
			describe(out, ref, DT_F64, (const void *)(uintptr_t)v.in.ref[i], v.in.elements[i]);
		free(ref);
	}
	view_close(&v);
	return rc;
}

int oraclefile_check(const struct task *t, const char *tier, const char *arch, uint64_t seed, struct buf *out,
		     struct err *e)
{
	struct buf source = BUF_INIT, cubin = BUF_INIT, log = BUF_INIT;
	struct workload *w = NULL;
	int n = 0, rc = oracle_source(t, &source, e);

	if (!rc)
		rc = engine_cubin(&source, arch, &cubin, &log, e);
	if (!rc)
		buf_addf(out, "%s: %zu bytes of cubin for %s\n", t->name, cubin.len, arch);
	else if (log.len)
		buf_addbuf(out, &log);
	if (!rc)
		rc = workloads_load(t, &w, &n, e);
	for (int i = 0; i < n && !rc; i++)
		if (!strcmp(w[i].tier, tier))
			rc = check_workload(t, &w[i], seed, out, e);
	workloads_free(w, n);
	buf_release(&source);
	buf_release(&cubin);
	buf_release(&log);
	return rc;
}

static int write_raw(const struct view *v, const char *dir, const char *prefix, int i, bool ref, struct err *e)
{
	const struct tensor *t = &v->in.task->tensors[i];
	char *path = xasprintf("%s/%s%s.raw", dir, prefix, t->name);
	uint64_t p = ref ? v->in.ref[i] : v->tensors[i];
	size_t n = (size_t)v->in.elements[i] * (ref ? sizeof(double) : dtype_size[t->dtype]);
	int rc = file_write(path, (const void *)(uintptr_t)p, n, e);

	free(path);
	return rc;
}

static int write_index(const struct view *v, const char *dir, uint64_t seed, struct err *e)
{
	const struct task *t = v->in.task;
	char *path = xasprintf("%s/index.json", dir), text[32];
	struct buf b = BUF_INIT;
	int rc;

	snprintf(text, sizeof(text), "0x%016llx", (unsigned long long)seed);
	emit_open(&b, '{');
	emit_kstr(&b, "task", t->name);
	emit_kstr(&b, "workload", v->in.workload->id);
	emit_kstr(&b, "seed", text);
	emit_key(&b, "params");
	emit_open(&b, '{');
	for (int i = 0; i < t->nparams; i++)
		emit_knum(&b, t->params[i], v->in.workload->vars[t->ndims + i].value);
	emit_close(&b, '}');
	emit_key(&b, "tensors");
	emit_open(&b, '[');
	for (int i = 0; i < t->ntensors; i++) {
		const struct tensor *x = &t->tensors[i];
		long long shape[TASK_DIMS], n;

		if (tensor_elements(x, v->in.workload, shape, &n, e))
			return -1;
		emit_open(&b, '{');
		emit_kstr(&b, "name", x->name);
		emit_kstr(&b, "role", role_name[x->role]);
		emit_kstr(&b, "dtype", dtype_name[x->dtype]);
		emit_key(&b, "shape");
		emit_open(&b, '[');
		for (int d = 0; d < x->ndim; d++)
			emit_int(&b, shape[d]);
		emit_close(&b, ']');
		emit_key(&b, "check");
		emit_open(&b, '[');
		for (int k = 0; k < x->nchecks; k++) {
			emit_open(&b, '{');
			emit_kstr(&b, "metric", metric_name[x->check[k].metric]);
			emit_knum(&b, "max", x->check[k].max);
			emit_knum(&b, "share", x->check[k].share);
			emit_close(&b, '}');
		}
		emit_close(&b, ']');
		emit_close(&b, '}');
	}
	emit_close(&b, ']');
	emit_close(&b, '}');
	buf_addch(&b, '\n');
	rc = file_write(path, b.data, b.len, e);
	buf_release(&b);
	free(path);
	return rc;
}

static int dump(const struct task *t, const struct workload *w, uint64_t seed, const char *dir, struct err *e)
{
	struct view v = { 0 };
	int rc = file_mkdirs(dir, e) || view_open(&v, t, w, seed, e) ? -1 : 0;

	for (int i = 0; i < t->ntensors && !rc; i++) {
		if (t->tensors[i].role != ROLE_OUT)
			rc = write_raw(&v, dir, "", i, false, e);
		if (t->tensors[i].role != ROLE_IN && !rc)
			rc = write_raw(&v, dir, "ref_", i, true, e);
	}
	if (!rc)
		rc = write_index(&v, dir, seed, e);
	view_close(&v);
	return rc;
}

int oraclefile_dump(const struct task *t, const char *workload, uint64_t seed, const char *dir, struct err *e)
{
	struct workload *w;
	int n, rc = -1, found = 0;

	if (workloads_load(t, &w, &n, e))
		return -1;
	for (int i = 0; i < n && !found; i++)
		if (!strcmp(w[i].id, workload)) {
			found = 1;
			rc = dump(t, &w[i], seed, dir, e);
		}
	workloads_free(w, n);
	return found ? rc : err_set(e, "no workload '%s'", workload);
}
