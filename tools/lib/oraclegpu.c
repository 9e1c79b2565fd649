/* Host against device. */
#include "oraclegpu.h"
#include "clock.h"
#include "gpu.h"
#include "oracle.h"
#include "sets.h"
#include "../oracle/oracle.h"
#include "../oracle/kernels.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One workload's inputs and references on one engine. */
struct side {
	struct engine *engine;
	struct instance in;
	struct layout l;
	uint64_t set, *tensors;
	double generate, reference;	/* seconds */
};

static int settle(struct engine *x, uint64_t p, struct err *e)
{
	char byte;

	return engine_read(x, &byte, p, 1, e);	/* waits for what is under way */
}

static int side_run(struct side *s, struct engine *x, const struct task *t, const struct workload *w, uint64_t seed,
		    struct err *e)
{
	double start;

	*s = (struct side){ .engine = x };
	if (instance_open(&s->in, x, t, w, e))
		return -1;
	layout_init(&s->l, &s->in, 0);
	s->tensors = xcalloc((size_t)t->ntensors + 1, sizeof(*s->tensors));
	if (engine_alloc(x, s->l.size, &s->set, e) || set_poison(x, &s->l, s->set, seed, e))
		return -1;
	set_addresses(&s->l, s->set, s->tensors);
	if (settle(x, s->set, e))
		return -1;
	start = clock_now();
	if (instance_generate(&s->in, seed, s->tensors, e) || settle(x, s->set, e))
		return -1;
	s->generate = clock_now() - start;
	start = clock_now();
	if (instance_reference(&s->in, seed, s->tensors, e) || settle(x, s->set, e))
		return -1;
	s->reference = clock_now() - start;
	return 0;
}

static void side_close(struct side *s)
{
	if (!s->engine)
		return;
	engine_free(s->engine, s->set);
	if (s->in.task)
		instance_release(&s->in);
	layout_release(&s->l);
	free(s->tensors);
}

/* Norm of the difference of two arrays of doubles over the norm of the first; NaN and infinities must match. */
static double distance_of(const double *a, const double *b, long long n)
{
	double d = 0, r = 0;

	for (long long i = 0; i < n; i++) {
		if (!isfinite(a[i]) || !isfinite(b[i])) {
			if (!(a[i] == b[i] || (isnan(a[i]) && isnan(b[i]))))
				return INFINITY;
			continue;
		}
		d += (a[i] - b[i]) * (a[i] - b[i]);
		r += a[i] * a[i];
	}
	return r > 0 ? sqrt(d / r) : d > 0 ? INFINITY : 0;
}

static int same_inputs(const struct side *host, const struct side *gpu, struct err *e)
{
	char *copy = xmalloc(host->l.size);
	int rc = engine_read(gpu->engine, copy, gpu->set, gpu->l.size, e);

	/* poison, guard bands and inputs alike */
	for (size_t i = 0; i < host->l.size && !rc; i++)
		if (copy[i] != ((const char *)(uintptr_t)host->set)[i])
			rc = err_set(e, "the two sides' inputs differ at byte %zu of the set", i);
	free(copy);
	return rc;
}

static int same_references(const struct side *host, const struct side *gpu, struct buf *out, struct err *e)
{
	const struct task *t = host->in.task;
	int rc = 0;

	for (int i = 0; i < t->ntensors && !rc; i++) {
		size_t bytes = (size_t)host->in.elements[i] * sizeof(double);
		double *copy, d;

		if (t->tensors[i].role == ROLE_IN)
			continue;
		copy = xmalloc(bytes + 1);
		rc = engine_read(gpu->engine, copy, gpu->in.ref[i], bytes, e);
		d = rc ? 0 : distance_of((const double *)(uintptr_t)host->in.ref[i], copy, host->in.elements[i]);
		free(copy);
		if (!rc)
			buf_addf(out, "  ref_%s differs by %.3g\n", t->tensors[i].name, d);
		if (d > 1e-3)
			rc = err_set(e, "ref_%s of the two sides differs by %.3g", t->tensors[i].name, d);
	}
	return rc;
}

static int check_workload(struct engine *host, struct engine *gpu, const struct task *t, const struct workload *w,
			  bool alone,
			  uint64_t seed, struct buf *out, struct err *e)
{
	struct side a = { 0 }, b = { 0 };
	int rc = side_run(&b, gpu, t, w, seed, e);

	if (!rc)
		buf_addf(out, "%s: on the GPU inputs take %.2f ms, references %.2f ms\n", w->id, 1e3 * b.generate,
			 1e3 * b.reference);
	if (!rc && !alone)
		rc = side_run(&a, host, t, w, seed, e) || same_inputs(&a, &b, e) || same_references(&a, &b, out, e)
			? -1 : 0;
	if (!rc && !alone)
		buf_addf(out, "  inputs of both sides are the same bytes\n");
	side_close(&a);
	side_close(&b);
	return rc;
}

/* One product of odd sizes on the engine, read back into c. */
static int run_product(struct engine *x, const char *kernel, struct product p, const double *a, const double *b,
		       double *c,
		       struct err *e)
{
	size_t na = (size_t)(p.batch * p.m * p.k), nb = (size_t)(p.batch * p.k * p.n),
		nc = (size_t)(p.batch * p.m * p.n);
	unsigned grid[3] = { (unsigned)((p.n + 127) / 128), (unsigned)((p.m + 127) / 128), (unsigned)p.batch };
	uint64_t pa = 0, pb = 0, pc = 0;
	int rc = engine_alloc(x, na * 8, &pa, e) || engine_alloc(x, nb * 8, &pb, e) ||
		 engine_alloc(x, nc * 8, &pc, e) ||
		 engine_write(x, pa, a, na * 8, e) || engine_write(x, pb, b, nb * 8, e);

	p.a = (const double *)(uintptr_t)pa;
	p.b = (const double *)(uintptr_t)pb;
	p.c = (double *)(uintptr_t)pc;
	if (!rc)
		rc = !strcmp(kernel, "product") ? engine_run_grid(x, kernel, &p, grid, e) : engine_run(x, kernel, &p,
												       (long long)nc,
													e);
	if (!rc)
		rc = engine_read(x, c, pc, nc * 8, e);
	engine_free(x, pa);
	engine_free(x, pb);
	engine_free(x, pc);
	return rc ? -1 : 0;
}

static int check_product(struct engine *host, struct engine *gpu, struct buf *out, struct err *e)
{
	static const long long size[][4] = { { 1, 128, 128, 128 }, { 3, 200, 136, 77 }, { 2, 1, 300, 5 }, { 1, 129, 7,
		1 } };
	int rc = 0;

	for (int s = 0; s < 16 && !rc; s++) {
		const long long *d = size[s / 4];
		struct product p = { .batch = d[0], .m = d[1], .n = d[2], .k = d[3], .ta = s & 1, .tb = s >> 1 & 1 };
		size_t na = (size_t)(d[0] * d[1] * d[3]), nb = (size_t)(d[0] * d[3] * d[2]),
			nc = (size_t)(d[0] * d[1] * d[2]);
		double *a = xcalloc(na, 8), *b = xcalloc(nb, 8), *slow = xcalloc(nc, 8), *fast = xcalloc(nc, 8),
			*fast_gpu = xcalloc(nc, 8);

		for (size_t i = 0; i < na; i++)
			a[i] = rand_normal(1, 1, (i64)i);
		for (size_t i = 0; i < nb; i++)
			b[i] = rand_normal(1, 2, (i64)i);
		rc = run_product(host, "product_slow", p, a, b, slow, e) || run_product(host, "product", p, a, b, fast,
											e) ||
		     run_product(gpu, "product", p, a, b, fast_gpu, e);
		if (!rc) {
			double h = distance_of(slow, fast, (long long)nc);
			double g = distance_of(slow, fast_gpu, (long long)nc);

			buf_addf(out, "product %lld x (%lld x %lld x %lld)%s%s: off the obvious loop by %.2g on the host, "
				 "%.2g on the GPU\n", d[0], d[1], d[2], d[3], p.ta ? " ta" : "", p.tb ? " tb" : "", h, g);
			if (!(h < 1e-13 && g < 1e-13))
				rc = err_set(e, "the tiled product is wrong");
		}
		free(a);
		free(b);
		free(slow);
		free(fast);
		free(fast_gpu);
	}
	return rc ? -1 : 0;
}

int oraclegpu_check(const struct task *t, const char *tier, int device, uint64_t seed, struct buf *out, struct err *e)
{
	struct buf source = BUF_INIT;
	struct engine *host = NULL, *gpu = NULL;
	struct workload *w = NULL;
	struct gpu *g = gpu_open(device, NULL, e);
	bool alone = strcmp(tier, "bench") == 0;
	int n = 0, rc = -1;

	if (g && !gpu_start(g, e) && !oracle_source(t, &source, e) && (host = engine_host(&source, e)) &&
	    (gpu = engine_gpu(g, &source, e)) && !workloads_load(t, &w, &n, e))
		rc = check_product(host, gpu, out, e);
	for (int i = 0; i < n && !rc; i++)
		if (!strcmp(w[i].tier, tier))
			rc = check_workload(host, gpu, t, &w[i], alone, seed, out, e);
	workloads_free(w, n);
	engine_close(gpu);
	engine_close(host);
	buf_release(&source);
	return rc;
}
