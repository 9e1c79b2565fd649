/* The second pass over a wrong output: counts along each dimension, and traits of the wrong elements. */
#include "pattern.h"
#include <stdlib.h>
#include <string.h>

enum { GPU_STRIPS = 1 << 14, HOST_STRIPS = 64, FOLD = 128, BINS = 1 << 20 };

/* The kernels number element types as dtype.h does. */
_Static_assert((int)DT_F64 == ANY_F64 && (int)DT_F32 == ANY_F32 && (int)DT_F16 == ANY_F16 && (int)DT_BF16 == ANY_BF16,
	       "floating types");
_Static_assert((int)DT_F8E4M3 == ANY_E4M3 && (int)DT_F8E5M2 == ANY_E5M2 && (int)DT_I64 == ANY_I64 &&
	       (int)DT_I32 == ANY_I32 && (int)DT_I16 == ANY_I16 && (int)DT_I8 == ANY_I8 && (int)DT_U8 == ANY_U8 &&
	       (int)DT_BOOL == ANY_BOOL, "8-bit and integer types");
_Static_assert((int)TASK_DIMS == SURVEY_DIMS, "dimensions");

/* The pass's memory on the engine: counts, then traits of the strips, of their folds, of all. */
struct room {
	uint64_t p;
	long long counts, strips, folds;
};

static uint64_t traits_at(const struct room *r, long long k)
{
	return r->p + 8 * (uint64_t)r->counts + (uint64_t)k * sizeof(struct traits);
}

/* Shape, bins, and where each dimension's begin; returns how many there are. */
static long long lay_out(struct survey *s, struct spread *spread)
{
	long long at = 0;

	s->ndim = spread->ndim;
	for (int d = 0; d < spread->ndim; d++) {
		spread->width[d] = (spread->shape[d] + BINS - 1) / BINS;
		s->shape[d] = spread->shape[d];
		s->width[d] = spread->width[d];
		s->count_at[d] = at;
		at += (spread->shape[d] + spread->width[d] - 1) / spread->width[d];
	}
	return at;
}

static int run(struct engine *x, struct survey *s, struct room *r, struct traits *traits, uint64_t *counts,
	       struct err *e)
{
	struct survey_fold first = { .n = r->strips, .span = FOLD }, second = { .n = r->folds, .span = r->folds };

	s->counts = (u64 *)(uintptr_t)r->p;
	s->out = (struct traits *)(uintptr_t)traits_at(r, 0);
	first.in = s->out;
	first.out = (struct traits *)(uintptr_t)traits_at(r, r->strips);
	second.in = first.out;
	second.out = (struct traits *)(uintptr_t)traits_at(r, r->strips + r->folds);
	return engine_fill(x, r->p, 0, 8 * (size_t)r->counts, e) || engine_run(x, "survey", s, r->strips, e) ||
	       engine_run(x, "survey_fold", &first, r->folds, e) || engine_run(x, "survey_fold", &second, 1, e) ||
	       engine_read(x, traits, (uint64_t)(uintptr_t)second.out, sizeof(*traits), e) ||
	       engine_read(x, counts, r->p, 8 * (size_t)r->counts, e) ? -1 : 0;
}

static struct survey survey_of(const struct instance *in, int i, uint64_t got, const struct rule *rule,
			       const struct before *was)
{
	enum dtype type = in->task->tensors[i].dtype;
	struct survey s = { .got = (const void *)(uintptr_t)got, .ref = (const double *)(uintptr_t)in->ref[i],
			    .type = type, .size = (i64)dtype_size[type], .n = in->elements[i],
			    .over = rule->over, .steps = rule->steps };

	if (was) {
		s.base = (const u8 *)(uintptr_t)was->base;
		s.seed = was->poison;
		s.same = (const u8 *)(uintptr_t)was->same;
	}
	return s;
}

int pattern_find(struct instance *in, int i, uint64_t got, const struct rule *rule, const struct before *was,
		 long long *wrong, struct buf *words, struct err *e)
{
	const struct tensor *t = &in->task->tensors[i];
	bool on_gpu = engine_on_gpu(in->engine);
	struct survey s = survey_of(in, i, got, rule, was);
	struct spread spread = { .ndim = t->ndim, .name = (const char *const *)t->shape };
	struct room r = { .strips = on_gpu ? GPU_STRIPS : HOST_STRIPS };
	uint64_t *counts;
	int rc = -1;

	if (tensor_elements(t, in->workload, spread.shape, &spread.elements, e))
		return -1;
	r.strips = s.n < r.strips ? s.n : r.strips;
	r.folds = (r.strips + FOLD - 1) / FOLD;
	r.counts = lay_out(&s, &spread);
	s.span = on_gpu ? 1 : (s.n + r.strips - 1) / r.strips;
	s.step = s.span > 1 ? 1 : r.strips;
	counts = xcalloc((size_t)r.counts + 1, sizeof(*counts));
	for (int d = 0; d < spread.ndim; d++)
		spread.count[d] = counts + s.count_at[d];
	if (!engine_alloc(in->engine, traits_at(&r, r.strips + r.folds + 1) - r.p, &r.p, e)) {
		rc = run(in->engine, &s, &r, &spread.traits, counts, e);
		engine_free(in->engine, r.p);
	}
	if (!rc) {
		*wrong = spread.traits.wrong;
		pattern_words(&spread, words);
	}
	free(counts);
	return rc;
}
