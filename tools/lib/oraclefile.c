/* Oracles by hand. */
#include "oraclefile.h"
#include "element.h"
#include "emit.h"
#include "file.h"
#include "view.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct engine *host(const struct task *t, struct err *e)
{
	struct buf source = BUF_INIT;
	struct engine *x = oracle_source(t, &source, e) ? NULL : engine_host(&source, e);

	buf_release(&source);
	return x;
}

/* An array of the host's: an input, or the reference of an output. */
struct array {
	char *name;
	enum dtype dtype;
	const void *data;
	long long n;
};

/* 0 for what does not exist: the reference of an input, the contents of an output. */
static int array_open(struct array *a, const struct view *v, int i, bool reference)
{
	const struct tensor *t = &v->in.task->tensors[i];

	if (t->role == (reference ? ROLE_IN : ROLE_OUT))
		return 0;
	a->name = xasprintf("%s%s", reference ? "ref_" : "", t->name);
	a->dtype = reference ? DT_F64 : t->dtype;
	a->data = (const void *)(uintptr_t)(reference ? v->in.ref[i] : set_tensor(&v->l, &v->set, i));
	a->n = v->in.elements[i];
	return 1;
}

/* ---- --check-oracle */

static void describe(const struct array *a, struct buf *out)
{
	double least = INFINITY, greatest = -INFINITY, sum = 0;
	long long odd = 0, zeros = 0;
	char hash[HASH_HEX];

	for (long long i = 0; i < a->n; i++) {
		double x = element_get(a->dtype, (const char *)a->data + (size_t)i * dtype_size[a->dtype]);

		if (!isfinite(x)) {
			odd++;
			continue;
		}
		least = fmin(least, x);
		greatest = fmax(greatest, x);
		sum += x * x;
		zeros += x == 0;
	}
	hash_hex(a->data, (size_t)a->n * dtype_size[a->dtype], hash);
	buf_addf(out, "  %-16s %-14s %10lld elements  min %-12.6g max %-12.6g rms %-12.6g zero %lld  not finite %lld"
		 "  %.12s\n", a->name, dtype_name[a->dtype], a->n, least, greatest,
		 sqrt(sum / (a->n > odd ? (double)(a->n - odd) : 1)), zeros, odd, hash);
}

static int check_workload(struct engine *x, const struct task *t, const struct workload *w, uint64_t seed,
			  struct buf *out, struct err *e)
{
	struct view v;
	int rc = view_open(&v, x, t, w, e) || view_make(&v, seed, e) ? -1 : 0;

	if (!rc)
		buf_addf(out, "%s (%s): least traffic %.6g bytes, least arithmetic %.6g flops\n", w->id, w->tier,
			 v.in.least_bytes, v.in.least_flops);
	for (int i = 0; i < 2 * t->ntensors && !rc; i++) {
		struct array a;

		if (array_open(&a, &v, i / 2, i % 2)) {
			describe(&a, out);
			free(a.name);
		}
	}
	view_close(&v);
	return rc;
}

static int check_workloads(const struct task *t, const char *tier, uint64_t seed, struct buf *out, struct err *e)
{
	struct engine *x = host(t, e);
	struct workload *w = NULL;
	int n = 0, rc = !x || workloads_load(t, &w, &n, e) ? -1 : 0;

	for (int i = 0; i < n && !rc; i++)
		if (!strcmp(w[i].tier, tier))
			rc = check_workload(x, t, &w[i], seed, out, e);
	workloads_free(w, n);
	engine_close(x);
	return rc;
}

int oraclefile_check(const struct task *t, const char *tier, const char *arch, uint64_t seed, struct buf *out,
		     struct err *e)
{
	struct buf source = BUF_INIT, cubin = BUF_INIT;
	int rc = oracle_source(t, &source, e) || engine_cubin(&source, arch, &cubin, e) ? -1 : 0;

	if (!rc) {
		buf_addf(out, "%s: %zu bytes of cubin for %s\n", t->name, cubin.len, arch);
		rc = check_workloads(t, tier, seed, out, e);
	}
	buf_release(&source);
	buf_release(&cubin);
	return rc;
}

/* ---- --dump-oracle */

static int write_array(const struct array *a, const char *dir, struct err *e)
{
	char *path = xasprintf("%s/%s.raw", dir, a->name);
	int rc = file_write(path, a->data, (size_t)a->n * dtype_size[a->dtype], e);

	free(path);
	return rc;
}

static int emit_tensor(struct buf *out, const struct tensor *t, const struct workload *w, struct err *e)
{
	long long shape[TASK_DIMS], n;

	if (tensor_elements(t, w, shape, &n, e))
		return -1;
	emit_open(out, '{');
	emit_kstr(out, "name", t->name);
	emit_kstr(out, "role", role_name[t->role]);
	emit_kstr(out, "dtype", dtype_name[t->dtype]);
	emit_key(out, "shape");
	emit_open(out, '[');
	for (int d = 0; d < t->ndim; d++)
		emit_int(out, shape[d]);
	emit_close(out, ']');
	emit_key(out, "check");
	emit_open(out, '[');
	for (int k = 0; k < t->nchecks; k++) {
		emit_open(out, '{');
		emit_kstr(out, "metric", metric_name[t->check[k].metric]);
		emit_kgiven(out, "max", t->check[k].max);
		emit_kgiven(out, "share", t->check[k].share);
		emit_kgiven(out, "equal", t->check[k].equal);
		emit_close(out, '}');
	}
	emit_close(out, ']');
	emit_close(out, '}');
	return 0;
}

static int write_index(const struct view *v, const char *dir, struct err *e)
{
	const struct task *t = v->in.task;
	const struct workload *w = v->in.workload;
	char *path = xasprintf("%s/index.json", dir);
	struct buf b = BUF_INIT;
	int rc = 0;

	emit_open(&b, '{');
	emit_kstr(&b, "task", t->name);
	emit_kstr(&b, "workload", w->id);
	emit_kseed(&b, "seed", v->set.seed);
	emit_kraw(&b, "params", w->params, strlen(w->params));
	emit_key(&b, "tensors");
	emit_open(&b, '[');
	for (int i = 0; i < t->ntensors && !rc; i++)
		rc = emit_tensor(&b, &t->tensors[i], w, e);
	emit_close(&b, ']');
	emit_close(&b, '}');
	buf_addch(&b, '\n');
	if (!rc)
		rc = file_write(path, b.data, b.len, e);
	buf_release(&b);
	free(path);
	return rc;
}

static int dump(const struct task *t, const struct workload *w, uint64_t seed, const char *dir, struct err *e)
{
	struct engine *x = host(t, e);
	struct view v = { 0 };
	int rc = !x || file_mkdirs(dir, e) || view_open(&v, x, t, w, e) || view_make(&v, seed, e) ? -1 : 0;

	for (int i = 0; i < 2 * t->ntensors && !rc; i++) {
		struct array a;

		if (array_open(&a, &v, i / 2, i % 2)) {
			rc = write_array(&a, dir, e);
			free(a.name);
		}
	}
	if (!rc)
		rc = write_index(&v, dir, e);
	view_close(&v);
	engine_close(x);
	return rc;
}

int oraclefile_dump(const struct task *t, const char *workload, uint64_t seed, const char *dir, struct err *e)
{
	struct workload *w;
	int n, i = 0, rc;

	if (workloads_load(t, &w, &n, e))
		return -1;
	while (i < n && strcmp(w[i].id, workload))
		i++;
	rc = i < n ? dump(t, &w[i], seed, dir, e) : err_set(e, "no workload '%s'", workload);
	workloads_free(w, n);
	return rc;
}
