/* Memory for sets, and wiping it. */
#include "pool.h"
#include "../oracle/oracle.h"
#include "../oracle/kernels.h"
#include <math.h>
#include <stdlib.h>

enum {
	JITTER = 64 << 10,	/* bytes within which a set's place is drawn */
	PAGE = 2 << 20,		/* the driver's: nobody else's memory shares one with ours */
	WEDGES = 32,		/* by up to so many pages the arena moves */
	SETS_PER_WITNESS = 8,
};

/* Room for tensor number i in a backup. */
static size_t kept_bytes(const struct layout *l, int i)
{
	return set_round_up(l->tensor[i].bytes, SET_ALIGN);
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

/* Bytes of an arena that holds next to nothing. */
static size_t least(const struct pool *p)
{
	return POOL_ROTATION * (size_t)gpu_info(p->gpu)->l2_bytes;
}

static size_t table_bytes(int n)
{
	return 8 * (2 * (size_t)n + 1);
}

int pool_fits(const struct pool *p, double bytes)
{
	double fixed = 3.0 * (double)p->l->size + (double)PAGE * (WEDGES + 2) + (double)least(p);
	double each = (double)(stride(p) + p->backup_bytes) + 16 + (double)p->l->size / SETS_PER_WITNESS;

	return (int)fmax(fmin((bytes - fixed) / each, POOL_MAX), 0);
}

/* ---- places */

static void free_aside(struct pool *p)
{
	gpu_free(p->gpu, p->aside);
	p->aside = 0;
	p->witnesses = 0;
}

void pool_release(struct pool *p)
{
	gpu_free(p->gpu, p->arena);
	p->arena = p->backup = p->table = p->rest = 0;
	p->n = 0;
	free_aside(p);
}

/* One piece of whole pages. While it is taken a wedge occupies the pages that it would get otherwise. */
static int take(struct pool *p, size_t bytes, struct rng *rng, struct err *e)
{
	uint64_t wedge;
	int rc;

	if (gpu_alloc(p->gpu, (size_t)PAGE * (size_t)(1 + rng_below(rng, WEDGES)), &wedge, e))
		return -1;
	p->bytes = set_round_up(bytes, PAGE);
	rc = gpu_alloc(p->gpu, p->bytes, &p->arena, e);
	gpu_free(p->gpu, wedge);
	return rc;
}

int pool_place(struct pool *p, int n, struct rng *rng, struct err *e)
{
	size_t sets = stride(p) * (size_t)n, backups = p->backup_bytes * (size_t)n;
	size_t all = sets + table_bytes(n);

	if (all < least(p))
		all = least(p);
	pool_release(p);
	if (take(p, all + backups, rng, e))
		return -1;
	p->backup = p->arena + sets;
	p->table = p->backup + backups;
	p->rest = p->table + table_bytes(n);
	p->n = n;
	for (int i = 0; i < n; i++)
		p->set[i].base = p->arena + stride(p) * (size_t)i +
				 (uint64_t)rng_below(rng, JITTER / SET_ALIGN + 1) * SET_ALIGN;
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
	return set_generate(p->l, &p->set[i], e) || copy_inout(p, i, false, e) ? -1 : 0;
}

/* ---- wiping */

/* New poison for every set, told to the kernel. */
static int draw_poison(struct pool *p, struct rng *rng, struct err *e)
{
	size_t n = (size_t)p->n;
	uint64_t *table = xcalloc(1, table_bytes(p->n));	/* the count behind it is 0 */
	int rc;

	for (size_t i = 0; i < n; i++) {
		p->set[i].poison = rng_next(rng);
		table[i] = p->set[i].base;
		table[n + i] = p->set[i].poison;
	}
	rc = gpu_write(p->gpu, p->table, table, table_bytes(p->n), e);
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

/* `kernel` on the memory around the sets. */
static int around(struct pool *p, const char *kernel, struct err *e)
{
	u64 *table = (u64 *)(uintptr_t)p->table;
	struct gaps g = { .base = table, .seed = table + p->n, .arena = p->arena, .stride = (i64)stride(p),
			  .size = (i64)p->l->size, .words = JITTER / 8, .damaged = table + 2 * p->n };

	return engine_run(p->engine, kernel, &g, g.words * p->n, e);
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
	uint8_t with = (uint8_t)rng_next(rng);

	if (draw_poison(p, rng, e) || wipe_all(p, e) || around(p, "spoil_gaps", e) ||
	    gpu_fill(p->gpu, p->rest, with, (size_t)(p->arena + p->bytes - p->rest), e) ||
	    instance_spoil(p->l->in, with, e) || engine_scrub(p->engine, rng_next(rng), e))
		return -1;
	for (int i = 0; i < p->n; i++)
		if (copy_inout(p, i, true, e))
			return -1;
	return 0;
}

/* ---- to be examined */

int pool_witnesses(const struct pool *p)
{
	int n = p->n / SETS_PER_WITNESS;

	return n < 1 ? 1 : n < POOL_WITNESSES ? n : POOL_WITNESSES;
}

/* Room for the pristine set and n witnesses. */
static int lay_aside(struct pool *p, int n, struct err *e)
{
	free_aside(p);
	if (gpu_alloc(p->gpu, p->l->size * (size_t)(n + 1), &p->aside, e))
		return -1;
	p->pristine.base = p->aside;
	for (int i = 0; i < n; i++)
		p->witness[i].base = p->aside + p->l->size * (size_t)(i + 1);
	return 0;
}

int pool_keep(struct pool *p, const int *which, int n, struct err *e)
{
	uint64_t strays;

	if (lay_aside(p, n, e))
		return -1;
	for (int i = 0; i < n; i++) {
		const struct set *s = &p->set[which[i]];

		p->witness[i].seed = s->seed;
		p->witness[i].poison = s->poison;
		if (gpu_copy(p->gpu, p->witness[i].base, s->base, p->l->size, e))
			return -1;
	}
	p->witnesses = n;
	if (around(p, "check_gaps", e) || gpu_read(p->gpu, &strays, p->table + 16 * (size_t)p->n, sizeof(strays), e))
		return -1;
	p->strays = (long long)strays;
	return 0;
}

int pool_reference(struct pool *p, const struct set *s, struct err *e)
{
	if (!p->aside && lay_aside(p, 0, e))
		return -1;
	return set_pristine(p->l, &p->pristine, s, e) || gpu_sync(p->gpu, e) ? -1 : 0;
}

void pool_forget(struct pool *p)
{
	free_aside(p);
	instance_forget(p->l->in);
}
