/* Host against device. */
#include "oraclegpu.h"
#include "claim.h"
#include "clock.h"
#include "view.h"
#include "../oracle/oracle.h"
#include "../oracle/kernels.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Waits for what is under way. */
static int settle(const struct view *v, struct err *e)
{
	char byte;

	return engine_read(v->in.engine, &byte, v->set.base, 1, e);
}

/* Makes the view's data, and tells on the way how many milliseconds inputs and references take. */
static int make_timed(struct view *v, uint64_t seed, double *inputs, double *references, struct err *e)
{
	double start, middle;

	if (set_make(&v->l, &v->set, seed, seed, e) || settle(v, e))
		return -1;
	start = clock_now();
	if (set_generate(&v->l, &v->set, e) || settle(v, e))
		return -1;
	middle = clock_now();
	if (set_reference(&v->l, &v->set, e) || settle(v, e))
		return -1;
	*inputs = 1e3 * (middle - start);
	*references = 1e3 * (clock_now() - middle);
	return 0;
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

static int same_inputs(const struct view *host, const struct view *gpu, struct err *e)
{
	char *copy = xmalloc(host->l.size);
	int rc = engine_read(gpu->in.engine, copy, gpu->set.base, gpu->l.size, e);

	/* poison, guard bands and inputs alike */
	for (size_t i = 0; i < host->l.size && !rc; i++)
		if (copy[i] != ((const char *)(uintptr_t)host->set.base)[i])
			rc = err_set(e, "the two sides' inputs differ at byte %zu of the set", i);
	free(copy);
	return rc;
}

static int same_references(const struct view *host, const struct view *gpu, struct buf *out, struct err *e)
{
	const struct task *t = host->in.task;
	int rc = 0;

	for (int i = 0; i < t->ntensors && !rc; i++) {
		size_t bytes = (size_t)host->in.elements[i] * sizeof(double);
		double *copy, d;

		if (t->tensors[i].role == ROLE_IN)
			continue;
		copy = xmalloc(bytes);
		rc = engine_read(gpu->in.engine, copy, gpu->in.ref[i], bytes, e);
		d = rc ? 0 : distance_of((const double *)(uintptr_t)host->in.ref[i], copy, host->in.elements[i]);
		free(copy);
		if (!rc)
			buf_addf(out, "  ref_%s differs by %.3g\n", t->tensors[i].name, d);
		if (d > 1e-3)
			rc = err_set(e, "ref_%s of the two sides differs by %.3g", t->tensors[i].name, d);
	}
	return rc;
}

/* What is being compared. */
struct sides {
	const struct task *task;
	struct engine *host, *gpu;
	uint64_t seed;
	bool alone;	/* the GPU's side only: too large for the host */
	struct buf *out;
};

static int check_workload(const struct sides *s, const struct workload *w, struct err *e)
{
	struct view host = { 0 }, gpu = { 0 };
	double inputs, references;
	int rc = view_open(&gpu, s->gpu, s->task, w, e) || make_timed(&gpu, s->seed, &inputs, &references, e) ? -1 : 0;

	if (!rc)
		buf_addf(s->out, "%s: on the GPU inputs take %.2f ms, references %.2f ms\n", w->id, inputs, references);
	if (!rc && !s->alone) {
		rc = view_open(&host, s->host, s->task, w, e) || view_make(&host, s->seed, e) ||
		     same_inputs(&host, &gpu, e) || same_references(&host, &gpu, s->out, e) ? -1 : 0;
		if (!rc)
			buf_addstr(s->out, "  inputs of both sides are the same bytes\n");
	}
	view_close(&host);
	view_close(&gpu);
	return rc;
}

/* A product's operands on the host, and its result by three ways. */
struct operands {
	struct product p;
	size_t na, nb, nc;
	double *a, *b, *slow, *fast, *gpu;
};

static void operands_init(struct operands *t, const struct product *p)
{
	*t = (struct operands){ .p = *p, .na = (size_t)(p->batch * p->m * p->k), .nb = (size_t)(p->batch * p->k * p->n),
			     .nc = (size_t)(p->batch * p->m * p->n) };
	t->a = xcalloc(t->na, 8);
	t->b = xcalloc(t->nb, 8);
	t->slow = xcalloc(t->nc, 8);
	t->fast = xcalloc(t->nc, 8);
	t->gpu = xcalloc(t->nc, 8);
	for (size_t i = 0; i < t->na; i++)
		t->a[i] = rand_normal(1, 1, (i64)i);
	for (size_t i = 0; i < t->nb; i++)
		t->b[i] = rand_normal(1, 2, (i64)i);
}

static void operands_release(struct operands *t)
{
	free(t->a);
	free(t->b);
	free(t->slow);
	free(t->fast);
	free(t->gpu);
}

/* The product on an engine, by the kernel in tiles or by the obvious loop, read back into c. */
static int run_product(const struct operands *t, struct engine *x, bool tiles, double *c, struct err *e)
{
	struct product p = t->p;
	unsigned grid[3] = { (unsigned)((p.n + 127) / 128), (unsigned)((p.m + 127) / 128), (unsigned)p.batch };
	uint64_t pa = 0, pb = 0, pc = 0;
	int rc = engine_alloc(x, t->na * 8, &pa, e) || engine_alloc(x, t->nb * 8, &pb, e) ||
		 engine_alloc(x, t->nc * 8, &pc, e) || engine_write(x, pa, t->a, t->na * 8, e) ||
		 engine_write(x, pb, t->b, t->nb * 8, e);

	p.a = (const double *)(uintptr_t)pa;
	p.b = (const double *)(uintptr_t)pb;
	p.c = (double *)(uintptr_t)pc;
	if (!rc)
		rc = tiles ? engine_run_grid(x, "product", &p, grid, e)
			   : engine_run(x, "product_slow", &p, (long long)t->nc, e);
	if (!rc)
		rc = engine_read(x, c, pc, t->nc * 8, e);
	engine_free(x, pa);
	engine_free(x, pb);
	engine_free(x, pc);
	return rc ? -1 : 0;
}

static int check_product(const struct sides *s, const struct product *p, struct err *e)
{
	struct operands t;
	int rc;

	operands_init(&t, p);
	rc = run_product(&t, s->host, false, t.slow, e) || run_product(&t, s->host, true, t.fast, e) ||
	     run_product(&t, s->gpu, true, t.gpu, e) ? -1 : 0;
	if (!rc) {
		double h = distance_of(t.slow, t.fast, (long long)t.nc);
		double g = distance_of(t.slow, t.gpu, (long long)t.nc);

		buf_addf(s->out, "product %lld x (%lld x %lld x %lld)%s%s: off the obvious loop by %.2g on the host, "
			 "%.2g on the GPU\n", p->batch, p->m, p->n, p->k, p->ta ? " ta" : "", p->tb ? " tb" : "", h, g);
		if (!(h < 1e-13 && g < 1e-13))
			rc = err_set(e, "the tiled product is wrong");
	}
	operands_release(&t);
	return rc;
}

/* Sizes that fit the tiles, and sizes that do not, in all transposes. */
static int check_products(const struct sides *s, struct err *e)
{
	static const long long size[][4] = {
		{ 1, 128, 128, 128 }, { 3, 200, 136, 77 }, { 2, 1, 300, 5 }, { 1, 129, 7, 1 }
	};

	for (int i = 0; i < 16; i++) {
		const long long *d = size[i / 4];
		struct product p = { .batch = d[0], .m = d[1], .n = d[2], .k = d[3], .ta = i & 1, .tb = i >> 1 & 1 };

		if (check_product(s, &p, e))
			return -1;
	}
	return 0;
}

static void say_wait(const char *what, void *ctx)
{
	(void)ctx;
	warn("waiting for %s", what);
}

/* The device, to ourselves. */
static struct gpu *take_gpu(int device, struct err *e)
{
	struct claim c;

	return claim_gpu(&c, device, say_wait, NULL, e) || gpu_start(c.gpu, e) ? NULL : c.gpu;
}

int oraclegpu_check(const struct task *t, const char *tier, int device, uint64_t seed, struct buf *out, struct err *e)
{
	struct sides s = { .task = t, .seed = seed, .alone = !strcmp(tier, "bench"), .out = out };
	struct gpu *g = take_gpu(device, e);
	struct buf source = BUF_INIT;
	struct workload *w = NULL;
	int n = 0, rc = -1;

	if (g && !oracle_source(t, &source, e) && (s.host = engine_host(&source, e)) &&
	    (s.gpu = engine_gpu(g, &source, e)) && !workloads_load(t, &w, &n, e))
		rc = check_products(&s, e);
	for (int i = 0; i < n && !rc; i++)
		if (!strcmp(w[i].tier, tier))
			rc = check_workload(&s, &w[i], e);
	workloads_free(w, n);
	engine_close(s.gpu);
	engine_close(s.host);
	buf_release(&source);
	return rc;
}
