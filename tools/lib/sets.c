/* Laying out, poisoning and checking sets of buffers. */
#include "sets.h"
#include "../oracle/oracle.h"
#include "../oracle/kernels.h"
#include <stdlib.h>
#include <string.h>

size_t slot_pack(struct slot *s, const size_t *bytes, int n, size_t start)
{
	for (int i = 0; i < n; i++) {
		s[i] = (struct slot){ start, bytes[i] };
		start = set_round_up(start + bytes[i] + SET_GUARD, SET_ALIGN);
	}
	return start;
}

void layout_init(struct layout *l, struct instance *in, size_t scratch_bytes)
{
	int n = in->task->ntensors;

	*l = (struct layout){ .in = in, .tensor = xcalloc((size_t)n, sizeof(*l->tensor)) };
	l->scratch = slot_pack(l->tensor, in->bytes, n, SET_GUARD);
	l->size = set_round_up(l->scratch + scratch_bytes + SET_GUARD, SET_ALIGN);
}

void layout_release(struct layout *l)
{
	free(l->tensor);
	*l = (struct layout){ 0 };
}

/* ---- making one */

uint64_t set_tensor(const struct layout *l, const struct set *s, int i)
{
	return s->base + l->tensor[i].offset;
}

int set_make(const struct layout *l, struct set *s, uint64_t seed, uint64_t with, struct err *e)
{
	const struct task *t = l->in->task;
	struct words all = { .p = (u64 *)(uintptr_t)s->base, .seed = with };

	s->seed = seed;
	s->poison = with;
	if (engine_run(l->in->engine, "poison", &all, (long long)(l->size / 8), e))
		return -1;
	for (int i = 0; i < t->ntensors && with & 1; i++)
		if (t->tensors[i].role == ROLE_OUT &&
		    engine_fill(l->in->engine, set_tensor(l, s, i), 0xff, l->tensor[i].bytes, e))
			return -1;
	return set_generate(l, s, e);
}

/* Runs the instance's generator or its oracle on the set's tensors. */
static int run(const struct layout *l, const struct set *s,
	       int (*stages)(struct instance *in, uint64_t seed, const uint64_t *tensors, struct err *e), struct err *e)
{
	int n = l->in->task->ntensors, rc;
	uint64_t *tensors = xcalloc((size_t)n, sizeof(*tensors));

	for (int i = 0; i < n; i++)
		tensors[i] = set_tensor(l, s, i);
	rc = stages(l->in, s->seed, tensors, e);
	free(tensors);
	return rc;
}

int set_generate(const struct layout *l, const struct set *s, struct err *e)
{
	return run(l, s, instance_generate, e);
}

int set_reference(const struct layout *l, const struct set *s, struct err *e)
{
	return run(l, s, instance_reference, e);
}

int set_pristine(const struct layout *l, struct set *p, const struct set *of, struct err *e)
{
	return set_make(l, p, of->seed, of->poison, e) || set_reference(l, p, e) ? -1 : 0;
}

/* ---- guard bands */

enum { BAND_WORDS = (SET_GUARD + SET_ALIGN) / 8 + 2 };

/* The band that begins at `from`, up to where the next buffer may begin; its result goes to row number `row` of out. */
static int check_band(const struct layout *l, const struct set *s, size_t from, uint64_t out, int row, struct err *e)
{
	struct band b = { .p = (const u64 *)(uintptr_t)s->base, .seed = s->poison, .from = (i64)from,
			  .to = (i64)set_round_up(from + SET_GUARD, SET_ALIGN),
			  .out = (u64 *)(uintptr_t)(out + (uint64_t)row * BAND_WORDS * 8) };

	return engine_run(l->in->engine, "check_band", &b, (b.to + 7) / 8 - b.from / 8, e);
}

/* The first damaged word of a row, or -1. */
static int damaged(const uint64_t *row)
{
	for (int k = 0; k < BAND_WORDS; k++)
		if (row[k])
			return k;
	return -1;
}

/* One row per band: in front of all, behind each tensor, behind each scratch buffer. */
static int check_bands(const struct layout *l, const struct set *s, const struct scratch *scratch, uint64_t out,
		       struct err *e)
{
	int row = 0;

	if (check_band(l, s, 0, out, row++, e))
		return -1;
	for (int i = 0; i < l->in->task->ntensors; i++)
		if (check_band(l, s, l->tensor[i].offset + l->tensor[i].bytes, out, row++, e))
			return -1;
	for (int i = 0; scratch && i < scratch->n; i++)
		if (check_band(l, s, scratch->slot[i].offset + scratch->slot[i].bytes, out, row++, e))
			return -1;
	return 0;
}

static void say_damage(const struct layout *l, const struct scratch *scratch, int row, int word, struct buf *words)
{
	const struct tensor *tensors = l->in->task->tensors;
	int n = l->in->task->ntensors;

	if (row == 0)
		buf_addf(words, "wrote in front of %s", tensors[0].name);
	else
		buf_addf(words, "wrote past the end of %s (about %d bytes behind it)",
			 row <= n ? tensors[row - 1].name : scratch->name[row - 1 - n], word * 8);
}

int set_bands(const struct layout *l, const struct set *s, const struct scratch *scratch, struct buf *words,
	      struct err *e)
{
	struct engine *x = l->in->engine;
	int rows = 1 + l->in->task->ntensors + (scratch ? scratch->n : 0), rc = -1;
	size_t bytes = (size_t)rows * BAND_WORDS * 8;
	uint64_t out, *got = xcalloc(1, bytes);

	if (!engine_alloc(x, bytes, &out, e) && !engine_write(x, out, got, bytes, e) &&
	    !check_bands(l, s, scratch, out, e) && !engine_read(x, got, out, bytes, e))
		rc = 0;
	for (int r = 0; r < rows && !rc; r++) {
		int at = damaged(got + (size_t)r * BAND_WORDS);

		if (at >= 0) {
			say_damage(l, scratch, r, at, words);
			rc = 1;
		}
	}
	engine_free(x, out);
	free(got);
	return rc;
}

/* ---- inputs */

enum { GPU_STRIPS = 1 << 16, HOST_STRIPS = 64 };

/* Words that differ between two pieces of memory, and the first that does. */
static int differing(struct engine *x, uint64_t a, uint64_t b, size_t bytes, long long *count, long long *first,
		     struct err *e)
{
	long long strips = engine_on_gpu(x) ? GPU_STRIPS : HOST_STRIPS, n = (long long)((bytes + 7) / 8);
	struct differ d = { .a = (const u64 *)(uintptr_t)a, .b = (const u64 *)(uintptr_t)b, .bytes = (i64)bytes, .n = n };
	int64_t *got;
	uint64_t out;
	int rc = -1;

	*count = 0;
	*first = -1;
	if (n <= 0)
		return 0;
	if (n < strips)
		strips = n;
	d.span = engine_on_gpu(x) ? 1 : (n + strips - 1) / strips;
	d.step = d.span > 1 ? 1 : strips;
	got = xcalloc((size_t)strips * 2, sizeof(*got));
	if (!engine_alloc(x, (size_t)strips * 16, &out, e)) {
		d.out = (i64 *)(uintptr_t)out;
		if (!engine_run(x, "differ", &d, strips, e) && !engine_read(x, got, out, (size_t)strips * 16, e))
			rc = 0;
		engine_free(x, out);
	}
	for (long long i = 0; i < strips && !rc; i++) {
		*count += got[2 * i];
		if (got[2 * i + 1] >= 0 && (*first < 0 || got[2 * i + 1] < *first))
			*first = got[2 * i + 1];
	}
	free(got);
	return rc;
}

int set_inputs(const struct layout *l, const struct set *s, const struct set *pristine, struct buf *words,
	       struct err *e)
{
	const struct task *task = l->in->task;

	for (int i = 0; i < task->ntensors; i++) {
		const struct tensor *t = &task->tensors[i];
		long long count, first;

		if (t->role != ROLE_IN)
			continue;
		if (differing(l->in->engine, set_tensor(l, s, i), set_tensor(l, pristine, i),
			      l->tensor[i].bytes, &count, &first, e))
			return -1;
		if (count) {
			buf_addf(words, "changed the input %s (first near element %lld)", t->name,
				 first * 8 / (long long)dtype_size[t->dtype]);
			return 1;
		}
	}
	return 0;
}
