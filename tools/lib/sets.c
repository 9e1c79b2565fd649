/* Laying out, poisoning and checking sets of buffers. */
#include "sets.h"
#include "../oracle/oracle.h"
#include "../oracle/kernels.h"
#include <stdlib.h>
#include <string.h>

static size_t round_up(size_t n, size_t to)
{
	return (n + to - 1) / to * to;
}

size_t slot_pack(struct slot *s, const size_t *bytes, int n, size_t start)
{
	for (int i = 0; i < n; i++) {
		s[i] = (struct slot){ start, bytes[i] };
		start = round_up(start + bytes[i] + SET_GUARD, SET_ALIGN);
	}
	return start;
}

void layout_init(struct layout *l, const struct instance *in, size_t scratch_bytes)
{
	l->ntensors = in->task->ntensors;
	l->tensor = xcalloc((size_t)l->ntensors, sizeof(*l->tensor));
	l->scratch = slot_pack(l->tensor, in->bytes, l->ntensors, SET_GUARD);
	l->size = round_up(l->scratch + scratch_bytes + SET_GUARD, SET_ALIGN);
}

void layout_release(struct layout *l)
{
	free(l->tensor);
	*l = (struct layout){ 0 };
}

void set_addresses(const struct layout *l, uint64_t base, uint64_t *out)
{
	for (int i = 0; i < l->ntensors; i++)
		out[i] = base + l->tensor[i].offset;
}

int set_poison(struct engine *x, const struct layout *l, uint64_t base, uint64_t seed, struct err *e)
{
	struct words w = { .p = (u64 *)(uintptr_t)base, .seed = seed };

	return engine_run(x, "poison", &w, (long long)(l->size / 8), e);
}

/* The last word may reach into the band: it gets what the band holds anyway. */
int slot_poison(struct engine *x, const struct slot *s, uint64_t base, uint64_t seed, struct err *e)
{
	struct words w = { .p = (u64 *)(uintptr_t)base, .seed = seed, .first = (i64)(s->offset / 8) };

	return engine_run(x, "poison", &w, (long long)((s->bytes + 7) / 8), e);
}

enum { BAND_WORDS = SET_GUARD / 8 + 2 };

/* One band, whose result goes to row number `row` of out. */
static int check_band(struct engine *x, uint64_t base, uint64_t seed, size_t from, uint64_t out, int row, struct err *e)
{
	struct band b = { .p = (const u64 *)(uintptr_t)base, .seed = seed, .from = (i64)from,
		.to = (i64)(from + SET_GUARD),
			  .out = (u64 *)(uintptr_t)(out + (uint64_t)row * BAND_WORDS * 8) };

	return engine_run(x, "check_band", &b, (b.to + 7) / 8 - b.from / 8, e);
}

/* The first damaged word of a row, or -1. */
static int damaged(const uint64_t *row)
{
	for (int k = 0; k < BAND_WORDS; k++)
		if (row[k])
			return k;
	return -1;
}

int set_bands(struct engine *x, const struct layout *l, const struct instance *in, const struct slot *scratch,
	      char *const *names,
	      int n, uint64_t base, uint64_t seed, struct buf *words, struct err *e)
{
	int rows = 1 + l->ntensors + n, rc = -1;
	size_t bytes = (size_t)rows * BAND_WORDS * 8;
	uint64_t out, *got = xcalloc(1, bytes);

	if (engine_alloc(x, bytes, &out, e) || engine_write(x, out, got, bytes, e) || check_band(x, base, seed, 0, out,
												 0, e))
		goto done;
	for (int i = 0; i < l->ntensors; i++)
		if (check_band(x, base, seed, l->tensor[i].offset + l->tensor[i].bytes, out, 1 + i, e))
			goto done;
	for (int i = 0; i < n; i++)
		if (check_band(x, base, seed, scratch[i].offset + scratch[i].bytes, out, 1 + l->ntensors + i, e))
			goto done;
	if (engine_read(x, got, out, bytes, e))
		goto done;
	rc = 0;
	for (int r = 0; r < rows && !rc; r++) {
		int at = damaged(got + (size_t)r * BAND_WORDS);
		const char *name = r == 0 ? "" : r <= l->ntensors ? in->task->tensors[r - 1].name
			: names[r - 1 - l->ntensors];

		if (at < 0)
			continue;
		rc = 1;
		if (r == 0)
			buf_addf(words, "wrote in front of %s", l->ntensors ? in->task->tensors[0].name
				 : "the first buffer");
		else
			buf_addf(words, "wrote past the end of %s (about %d bytes behind it)", name, at * 8);
	}
done:
	engine_free(x, out);
	free(got);
	return rc;
}

enum { GPU_STRIPS = 1 << 16, HOST_STRIPS = 64 };

/* Words that differ between two pieces of memory, and the first that does. */
static int differing(struct engine *x, uint64_t a, uint64_t b, long long n, long long *count, long long *first,
		     struct err *e)
{
	long long strips = engine_on_gpu(x) ? GPU_STRIPS : HOST_STRIPS;
	struct differ d = { .a = (const u64 *)(uintptr_t)a, .b = (const u64 *)(uintptr_t)b, .n = n };
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

int set_inputs(struct engine *x, const struct layout *l, const struct instance *in, uint64_t base, uint64_t pristine,
	       struct buf *words, struct err *e)
{
	for (int i = 0; i < l->ntensors; i++) {
		const struct tensor *t = &in->task->tensors[i];
		long long count, first;

		if (t->role != ROLE_IN)
			continue;
		if (differing(x, base + l->tensor[i].offset, pristine + l->tensor[i].offset,
			      (long long)((l->tensor[i].bytes + 7) / 8), &count, &first, e))
			return -1;
		if (count) {
			buf_addf(words, "changed the input %s (first near element %lld)", t->name,
				 first * 8 / (long long)dtype_size[t->dtype]);
			return 1;
		}
	}
	return 0;
}
