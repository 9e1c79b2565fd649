/* Memory for sets, and wiping it. */
#include "pool.h"
#include "../oracle/oracle.h"
#include "../oracle/kernels.h"
#include <math.h>
#include <stdlib.h>

enum {
	JITTER = 64 << 10,	/* bytes within which a set's place is drawn */
	WEDGE = 2 << 20,	/* the driver's page; the arena moves by up to WEDGES of them */
	WEDGES = 32,
};

/* Room for tensor number i in a backup. */
static size_t kept_bytes(const struct layout *l, int i)
{
	return (l->tensor[i].bytes + SET_ALIGN - 1) / SET_ALIGN * SET_ALIGN;
}

void pool_init(struct pool *p, const struct layout *l, struct gpu *g)
{
	const struct task *t = l->in->task;

	*p = (struct pool){ .l = l, .gpu = g, .engine = l->in->engine };
	for (int i = 0; i < t->ntensors; i++)
		if (t->tensors[i].role == ROLE_INOUT)
			p->backup_bytes += kept_bytes(l, i);
}

/* Distance from one set to the next. */
static size_t stride(const struct pool *p)
{
	return p->l->size + JITTER;
}

int pool_fits(const struct pool *p, double bytes)
{
	double fixed = 2.0 * (double)stride(p) + (double)WEDGE * (WEDGES + 1);
	double each = (double)(stride(p) + p->backup_bytes + 16);

	return (int)fmax(fmin((bytes - fixed) / each, POOL_MAX), 0);
}

/* ---- places */

void pool_release(struct pool *p)
{
	gpu_free(p->gpu, p->arena);
	gpu_free(p->gpu, p->wedge);
	gpu_free(p->gpu, p->table);
	gpu_free(p->gpu, p->backup);
	p->arena = p->wedge = p->table = p->backup = 0;
	p->n = 0;
}

int pool_place(struct pool *p, int n, struct rng *rng, struct err *e)
{
	pool_release(p);
	if (gpu_alloc(p->gpu, (size_t)WEDGE * (size_t)(1 + rng_below(rng, WEDGES)), &p->wedge, e) ||
	    gpu_alloc(p->gpu, stride(p) * (size_t)(n + 2), &p->arena, e) ||
	    gpu_alloc(p->gpu, 16 * (size_t)n, &p->table, e) ||
	    (p->backup_bytes && gpu_alloc(p->gpu, p->backup_bytes * (size_t)n, &p->backup, e)))
		return -1;
	p->n = n;
	for (int i = 0; i < n + 2; i++) {
		struct set *s = i < n ? &p->set[i] : i == n ? &p->pristine : &p->witness;

		s->base = p->arena + stride(p) * (size_t)i + (uint64_t)rng_below(rng, JITTER / SET_ALIGN) * SET_ALIGN;
	}
	return 0;
}

/* ---- data */

/* Copies the inout tensors of set i to its backup, or back. */
static int copy_inout(struct pool *p, int i, bool back, struct err *e)
{
	const struct task *t = p->l->in->task;
	uint64_t at = p->backup + p->backup_bytes * (size_t)i;

	for (int k = 0; k < t->ntensors; k++) {
		uint64_t tensor = set_tensor(p->l, &p->set[i], k);

		if (t->tensors[k].role != ROLE_INOUT)
			continue;
		if (gpu_copy(p->gpu, back ? tensor : at, back ? at : tensor, p->l->tensor[k].bytes, e))
			return -1;
		at += kept_bytes(p->l, k);
	}
	return 0;
}

int pool_generate(struct pool *p, int i, uint64_t seed, struct err *e)
{
	p->set[i].seed = seed;
	return set_generate(p->l, &p->set[i], e) || (p->backup && copy_inout(p, i, false, e)) ? -1 : 0;
}

int pool_keep(struct pool *p, int i, struct err *e)
{
	p->witness.seed = p->set[i].seed;
	p->witness.poison = p->set[i].poison;
	return gpu_copy(p->gpu, p->witness.base, p->set[i].base, p->l->size, e);
}

int pool_reference(struct pool *p, const struct set *s, struct err *e)
{
	return set_pristine(p->l, &p->pristine, s, e) || gpu_sync(p->gpu, e) ? -1 : 0;
}

/* ---- wiping */

/* New poison for every set, told to the kernel. */
static int draw_poison(struct pool *p, struct rng *rng, struct err *e)
{
	size_t n = (size_t)p->n;
	uint64_t *table = xcalloc(2 * n, sizeof(*table));
	int rc;

	for (size_t i = 0; i < n; i++) {
		p->set[i].poison = rng_next(rng);
		table[i] = p->set[i].base;
		table[n + i] = p->set[i].poison;
	}
	rc = gpu_write(p->gpu, p->table, table, 2 * n * sizeof(*table), e);
	free(table);
	return rc;
}

/* Bytes [from, to) of all sets: poison, or `ones` where a set's poison says so. Bounds need not be whole words: the
 * bytes before `from` stay, and those behind `to` are poisoned, too. */
static int wipe(struct pool *p, size_t from, size_t to, bool ones, struct err *e)
{
	struct spoil s = { .base = (const u64 *)(uintptr_t)p->table, .seed = (const u64 *)(uintptr_t)p->table + p->n,
			   .first = (i64)(from / 8), .words = (i64)((to + 7) / 8 - from / 8), .keep_to = (i64)from };

	if (ones) {
		s.ones_from = (i64)from;
		s.ones_to = (i64)to;
	}
	return engine_run(p->engine, "spoil", &s, s.words * p->n, e);
}

/* Whatever is not an input: in front of the first tensor, each output, and what lies behind each tensor. */
static int wipe_all(struct pool *p, struct err *e)
{
	const struct layout *l = p->l;
	int n = l->in->task->ntensors;

	if (wipe(p, 0, l->tensor[0].offset, false, e))
		return -1;
	for (int i = 0; i < n; i++) {
		size_t end = l->tensor[i].offset + l->tensor[i].bytes, next = i + 1 < n ? l->tensor[i + 1].offset : l->size;
		bool out = l->in->task->tensors[i].role == ROLE_OUT;

		if (out && wipe(p, l->tensor[i].offset, end, true, e))
			return -1;
		if (out)
			end = (end + 7) / 8 * 8;	/* the rest of that word is poisoned by now */
		if (wipe(p, end, next, false, e))
			return -1;
	}
	return 0;
}

int pool_spoil(struct pool *p, struct rng *rng, struct err *e)
{
	if (draw_poison(p, rng, e) || wipe_all(p, e) || engine_scrub(p->engine, rng_next(rng), e))
		return -1;
	for (int i = 0; i < p->n && p->backup; i++)
		if (copy_inout(p, i, true, e))
			return -1;
	return 0;
}
