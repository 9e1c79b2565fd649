/* Putting together what is known of a plan's kernels. */
#include "profile.h"
#include "clock.h"
#include "emit.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { KERNELS_MAX = 32 };	/* that a record shows */

/* ---- kernels */

static struct profile_kernel *find(struct profile *p, int kernel, const unsigned grid[3])
{
	for (int i = 0; i < p->nkernels; i++)
		if (p->kernels[i].kernel == kernel && !memcmp(p->kernels[i].grid, grid, sizeof(p->kernels[i].grid)))
			return &p->kernels[i];
	return NULL;
}

static void add_launch(struct profile *p, int step, const struct variant *v)
{
	const struct kernel *k = &p->bundle->kernels[v->kernel];
	const unsigned grid[3] = { v->grid[0] * k->ctas, v->grid[1], v->grid[2] };
	struct profile_kernel *x = find(p, v->kernel, grid);

	if (!x) {
		x = &p->kernels[p->nkernels++];
		*x = (struct profile_kernel){ .kernel = v->kernel, .config = v->config, .ns = NAN,
					      .registers = k->registers, .local = k->stack, .shared = -1 };
		memcpy(x->grid, grid, sizeof(grid));
	}
	x->steps = xrealloc(x->steps, (size_t)(x->launches + 1) * sizeof(*x->steps));
	x->steps[x->launches++] = step;
}

void profile_open(struct profile *p, const struct bundle *b, const struct plan *plan, const int *chosen)
{
	*p = (struct profile){ .bundle = b, .plan = plan, .fills_ns = NAN, .ns = NAN, .call_ns = NAN, .bytes = NAN,
			       .flops = NAN, .bytes_peak = NAN, .flops_peak = NAN };
	p->kernels = xcalloc((size_t)plan->nsteps + 1, sizeof(*p->kernels));
	for (int s = 0; s < plan->nsteps; s++)
		if (plan->steps[s].variants)
			add_launch(p, s, &plan->steps[s].variants[chosen ? chosen[s] : 0]);
		else
			p->fills++;
}

void profile_release(struct profile *p)
{
	for (int i = 0; i < p->nkernels; i++)
		free(p->kernels[i].steps);
	free(p->kernels);
	*p = (struct profile){ 0 };
}

void profile_fit_target(struct profile *p)
{
	struct occupancy_device d;

	if (occupancy_target(p->bundle->target, &d))
		return;
	for (int i = 0; i < p->nkernels; i++) {
		struct profile_kernel *x = &p->kernels[i];
		const struct kernel *k = &p->bundle->kernels[x->kernel];
		const struct occupancy_use u = { x->registers, (int)k->shared, 32 * (int)k->warps, (int)k->ctas };

		x->fits = x->registers >= 0;
		if (x->fits)
			x->occupancy = occupancy_of(&d, &u, NULL, (double)x->grid[0] * x->grid[1] * x->grid[2]);
	}
}

/* ---- instructions */

/* What came of each cubin; workloads of a record share most of theirs. */
static struct known {
	char hash[HASH_HEX];
	bool good;
	struct sass mix;
	struct known *next;
} *known;

static struct known *recall(const char *hash)
{
	struct known *k = known;

	while (k && strcmp(k->hash, hash))
		k = k->next;
	return k;
}

static struct known *learn(const struct kernel *kernel, struct err *e)
{
	struct known *k = xcalloc(1, sizeof(*k));

	memcpy(k->hash, kernel->hash, sizeof(k->hash));
	k->good = !sass_disassemble(kernel->cubin, kernel->cubin_bytes, &k->mix, e);
	k->next = known;
	known = k;
	return k;
}

void profile_disassemble(struct profile *p, double seconds)
{
	double end = clock_now() + seconds;
	struct err e = { "" };

	for (int i = 0; i < p->nkernels; i++) {
		const struct kernel *kernel = &p->bundle->kernels[p->kernels[i].kernel];
		struct known *k = recall(kernel->hash);

		if (!k && clock_now() < end)
			k = learn(kernel, &e);
		if (k && k->good) {
			p->kernels[i].mixed = true;
			p->kernels[i].mix = k->mix;
		} else if (!*p->no_mix.text) {
			err_set(&p->no_mix, "%s", *e.text ? e.text : k ? "the disassembler failed before" :
				"there are too many kernels to disassemble them all");
		}
	}
}

/* ---- times and counters */

/* The kernel that a step launches; NULL for a fill. */
static struct profile_kernel *kernel_of(struct profile *p, int step)
{
	for (int i = 0; i < p->nkernels; i++)
		for (int k = 0; k < p->kernels[i].launches; k++)
			if (p->kernels[i].steps[k] == step)
				return &p->kernels[i];
	return NULL;
}

void profile_times(struct profile *p, const double *ns)
{
	double before = 0;

	for (int s = 0; s < p->plan->nsteps; s++) {
		struct profile_kernel *x = kernel_of(p, s);
		double *to = x ? &x->ns : &p->fills_ns;
		double adds = fmax(ns[s] - before, 0);

		*to = isnan(*to) ? adds : *to + adds;
		before = fmax(before, ns[s]);
	}
	p->ns = before;
}

void profile_count(struct profile *p, const struct counters *c, int n)
{
	int i = 0;

	for (int s = 0; s < p->plan->nsteps && i < n; s++) {
		struct profile_kernel *x = kernel_of(p, s);

		if (!x)
			continue;
		if (strncmp(c[i].kernel, p->bundle->kernels[x->kernel].name, sizeof(c[i].kernel) - 1)) {
			err_set(&p->no_counters, "ncu counted '%s' where the plan launches '%s'", c[i].kernel,
				p->bundle->kernels[x->kernel].name);
			return;
		}
		if (!x->counted) {
			x->counted = true;
			x->counters = c[i];
		}
		i++;
	}
}

/* ---- the object */

static void emit_list(struct buf *out, const char *key, const int *x, int n)
{
	emit_key(out, key);
	emit_open(out, '[');
	for (int i = 0; i < n; i++)
		emit_int(out, x[i]);
	emit_close(out, ']');
}

/* Nanoseconds with one decimal, and shares with four: more is noise. */
static void emit_rounded(struct buf *out, const char *key, double x, double digits)
{
	emit_kgiven(out, key, rint(x * digits) / digits);
}

static void emit_code(struct buf *out, const struct profile_kernel *x, const struct kernel *k)
{
	const int grid[3] = { (int)x->grid[0], (int)x->grid[1], (int)x->grid[2] };

	emit_list(out, "grid", grid, 3);
	emit_kint(out, "threads", 32 * k->warps);
	emit_kint(out, "cluster", k->ctas);
	emit_kcount(out, "registers", x->registers);
	emit_kcount(out, "local_bytes", x->local);
	emit_kcount(out, "spill_bytes", k->spills);
	emit_kcount(out, "static_shared_bytes", x->shared);
	emit_kint(out, "dynamic_shared_bytes", k->shared);
}

static void emit_kernel(struct buf *out, const struct profile *p, const struct profile_kernel *x)
{
	const struct kernel *k = &p->bundle->kernels[x->kernel];

	emit_open(out, '{');
	emit_kstr(out, "name", k->name);
	emit_kstr(out, "hash", k->hash);
	emit_kstr(out, "config", x->config);
	emit_list(out, "steps", x->steps, x->launches);
	emit_rounded(out, "ns", x->ns, 10);
	emit_rounded(out, "share", x->ns / p->ns, 1e4);
	emit_code(out, x, k);
	emit_key(out, "occupancy");
	if (x->fits)
		occupancy_emit(out, &x->occupancy);
	else
		emit_null(out);
	emit_key(out, "instructions");
	if (x->mixed)
		sass_emit(out, &x->mix);
	else
		emit_null(out);
	emit_key(out, "counters");
	if (x->counted)
		counters_emit(out, &x->counters);
	else
		emit_null(out);
	emit_close(out, '}');
}

/* What the whole reaches of what the device can do. */
static void emit_rates(struct buf *out, const struct profile *p)
{
	double bytes = p->bytes / p->call_ns * 1e9, flops = p->flops / p->call_ns * 1e9;
	double memory = p->bytes / p->bytes_peak, compute = p->flops / p->flops_peak;

	emit_knum(out, "bytes", p->bytes);
	emit_knum(out, "flops", p->flops);
	emit_kstr(out, "flop_unit", p->flop_unit);
	emit_kgiven(out, "bytes_per_s", rint(bytes));
	emit_rounded(out, "bytes_share", bytes / p->bytes_peak, 1e4);
	emit_kgiven(out, "flops_per_s", rint(flops));
	emit_rounded(out, "flops_share", flops / p->flops_peak, 1e4);
	emit_kstr(out, "bound", isnan(memory) && isnan(compute) ? NULL :
		  !(compute > memory) ? "memory" : "compute");
}

static void emit_why(struct buf *out, const char *key, const struct err *e)
{
	emit_kstr(out, key, *e->text ? e->text : NULL);
}

/* The longest first; in the plan's order where times are not known. */
static int by_time(const void *a, const void *b)
{
	const struct profile_kernel *x = *(const struct profile_kernel *const *)a;
	const struct profile_kernel *y = *(const struct profile_kernel *const *)b;

	return x->ns > y->ns ? -1 : x->ns < y->ns ? 1 : x < y ? -1 : 1;
}

static void emit_kernels(struct buf *out, const struct profile *p)
{
	const struct profile_kernel **order = xcalloc((size_t)p->nkernels + 1, sizeof(*order));
	int n = p->nkernels < KERNELS_MAX ? p->nkernels : KERNELS_MAX;

	for (int i = 0; i < p->nkernels; i++)
		order[i] = &p->kernels[i];
	qsort(order, (size_t)p->nkernels, sizeof(*order), by_time);
	emit_key(out, "kernels");
	emit_open(out, '[');
	for (int i = 0; i < n; i++)
		emit_kernel(out, p, order[i]);
	emit_close(out, ']');
	emit_kint(out, "kernels_left_out", p->nkernels - n);
	free(order);
}

void profile_emit(struct buf *out, const struct profile *p)
{
	emit_open(out, '{');
	emit_rounded(out, "ns", p->call_ns, 10);
	emit_rounded(out, "steps_ns", p->ns, 10);
	emit_rates(out, p);
	emit_kint(out, "fills", p->fills);
	emit_rounded(out, "fills_ns", p->fills ? p->fills_ns : 0, 10);
	emit_kernels(out, p);
	emit_key(out, "why_not");
	emit_open(out, '{');
	emit_why(out, "times", &p->no_times);
	emit_why(out, "instructions", &p->no_mix);
	emit_why(out, "counters", &p->no_counters);
	emit_close(out, '}');
	emit_close(out, '}');
}

void profile_notes(struct buf *out, const char *log)
{
	static const char begins[] = "kernel ";	/* what the submission printed comes after, under a title */

	emit_open(out, '[');
	while (log && !strncmp(log, begins, sizeof(begins) - 1)) {
		size_t n = strcspn(log, "\n");

		emit_strn(out, log, n);
		log += n + (log[n] == '\n');
	}
	emit_close(out, ']');
}
