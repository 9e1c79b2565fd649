/* Every task's gates, on its smoke workloads: the oracle's own answer, rounded, passes; zeros, a constant, a copied
 * input, one NaN, a stale buffer, a row moved by one, and lower precision fail, each output on its own. */
#include "../tap/tap.h"
#include "compare.h"
#include "element.h"
#include "file.h"
#include "oracle.h"
#include "sets.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct view {
	struct instance in;
	struct layout l;
	uint64_t set, *tensors;
};

/* Inputs and references of a seed. */
static int make(struct view *v, uint64_t seed, struct err *e)
{
	return set_poison(v->in.engine, &v->l, v->set, seed, e) || instance_generate(&v->in, seed, v->tensors, e) ||
	       instance_reference(&v->in, seed, v->tensors, e);
}

static int view_open(struct view *v, struct engine *x, const struct task *t, const struct workload *w, struct err *e)
{
	*v = (struct view){ 0 };
	if (instance_open(&v->in, x, t, w, e))
		return -1;
	layout_init(&v->l, &v->in, 0);
	v->tensors = xcalloc((size_t)t->ntensors, sizeof(*v->tensors));
	if (engine_alloc(x, v->l.size, &v->set, e))
		return -1;
	set_addresses(&v->l, v->set, v->tensors);
	return make(v, 1, e);
}

static void view_close(struct view *v)
{
	engine_free(v->in.engine, v->set);
	instance_release(&v->in);
	layout_release(&v->l);
	free(v->tensors);
}

/* The rounded reference into a buffer of the output's type. */
static void answer(const struct view *v, int i, char *out)
{
	const double *ref = (const double *)(uintptr_t)v->in.ref[i];
	enum dtype t = v->in.task->tensors[i].dtype;

	for (long long k = 0; k < v->in.elements[i]; k++)
		element_put(t, out + (size_t)k * dtype_size[t], ref[k]);
}

enum probe { ZERO, CONSTANT, COPY, ONE_NAN, STALE, SHIFTED, COARSE, PROBES };
static const char *const probe_name[] = { "zeros", "a constant", "a copied input", "one NaN",
	"the answer to other inputs",
	"rows moved by one", "lower precision" };

/* An element in a coarser type: floats as bf16, 16-bit floats with two fraction bits, 8-bit ones without their last two
 * bits, integers next to the right one. */
static void coarsen(enum dtype t, char *p)
{
	double x = element_get(t, p);
	unsigned char code[8];

	switch (t) {
	case DT_F64:
	case DT_F32:
		element_put(DT_BF16, code, x);
		element_put(t, p, element_get(DT_BF16, code));
		break;
	case DT_F16:
	case DT_BF16:
		element_put(t, p, x ? ldexp(rint(ldexp(frexp(x, &(int){ 0 }), 3)), ilogb(x) + 1 - 3) : 0);
		break;
	case DT_F8E4M3:
	case DT_F8E5M2:
		*p = (char)(*p & ~3);
		break;
	default:
		element_put(t, p, x + 1);
	}
}

/* Spoils a right answer. False where the probe means nothing for this output. */
static bool spoil(struct view *v, int i, char *out, enum probe probe)
{
	const struct tensor *t = &v->in.task->tensors[i];
	size_t size = dtype_size[t->dtype], n = (size_t)v->in.elements[i], row;
	long long shape[TASK_DIMS], count;
	char middle[8], *copy;
	struct err e;

	switch (probe) {
	case ZERO:
		memset(out, 0, n * size);
		return true;
	case CONSTANT:
		memcpy(middle, out + n / 2 * size, size);
		for (size_t k = 0; k < n; k++)
			memcpy(out + k * size, middle, size);
		return n > 1;
	case COPY:
		for (size_t k = 0, m = v->in.bytes[0]; k < n * size; k += m)
			memcpy(out + k, (const void *)(uintptr_t)v->tensors[0], n * size - k < m ? n * size - k : m);
		return t->role != ROLE_INOUT;
	case ONE_NAN:
		element_put(t->dtype, out + n / 2 * size, NAN);
		return !dtype_is_integer(t->dtype);
	case STALE:
		if (make(v, 2, &e))
			return false;
		answer(v, i, out);
		return !make(v, 1, &e);
	case SHIFTED:
		if (tensor_elements(t, v->in.workload, shape, &count, &e) || t->ndim < 1 || shape[0] < 2)
			return false;
		row = n / (size_t)shape[0] * size;
		copy = xmalloc(n * size);
		memcpy(copy, out, n * size);
		memcpy(out, copy + row, n * size - row);
		memcpy(out + n * size - row, copy, row);
		free(copy);
		return true;
	case COARSE:
		for (size_t k = 0; k < n; k++)
			coarsen(t->dtype, out + k * size);
		return true;
	case PROBES:
		break;
	}
	return false;
}

static void check_output(struct view *v, int i, const char *where)
{
	size_t bytes = v->in.bytes[i];
	char *out = xmalloc(bytes + 1);
	const char *name = v->in.task->tensors[i].name;
	struct output o;
	struct err e = { "" };

	answer(v, i, out);
	ok(!compare_output(&v->in, i, (uint64_t)(uintptr_t)out, &o, &e) && o.ok, "%s: %s passes when right %s", where,
	   name, e.text);
	for (int p = 0; p < PROBES; p++) {
		struct buf words = BUF_INIT;

		answer(v, i, out);
		if (!spoil(v, i, out, (enum probe)p))
			continue;
		if (compare_output(&v->in, i, (uint64_t)(uintptr_t)out, &o, &e))
			o.ok = true;
		else
			compare_words(&words, &v->in, &o);
		ok(!o.ok, "%s: %s fails with %s (%s)", where, name, probe_name[p], words.data ? words.data : e.text);
		if (p == ONE_NAN)
			ok(o.nonfinite == 1 && o.worst_at == v->in.elements[i] / 2, "and the NaN is counted and found");
		buf_release(&words);
	}
	free(out);
}

/* Guard bands and inputs: a byte changed anywhere near is noticed, and named. */
static void check_bands(struct view *v, const char *where)
{
	int last = v->l.ntensors - 1;
	char *set = (char *)(uintptr_t)v->set, *end = set + v->l.tensor[last].offset + v->l.tensor[last].bytes;
	struct buf words = BUF_INIT;
	struct err e = { "" };
	uint64_t other = 0;
	struct view copy = *v;

	is_int(set_bands(v->in.engine, &v->l, &v->in, NULL, NULL, 0, v->set, 1, &words, &e), 0,
	       "%s: untouched guard bands", where);
	*end ^= 1;
	is_int(set_bands(v->in.engine, &v->l, &v->in, NULL, NULL, 0, v->set, 1, &words, &e), 1,
	       "a byte behind the last tensor");
	ok(words.len && strstr(words.data, v->in.task->tensors[last].name), "is said: %s", words.data);
	*end ^= 1;
	set[v->l.tensor[0].offset - 1] ^= 1;
	is_int(set_bands(v->in.engine, &v->l, &v->in, NULL, NULL, 0, v->set, 1, &words, &e), 1,
	       "a byte before the first");
	set[v->l.tensor[0].offset - 1] ^= 1;
	if (engine_alloc(v->in.engine, v->l.size, &other, &e))
		return;
	copy.set = other;
	copy.tensors = xcalloc((size_t)v->l.ntensors, sizeof(*copy.tensors));
	set_addresses(&v->l, other, copy.tensors);
	make(&copy, 1, &e);
	is_int(set_inputs(v->in.engine, &v->l, &v->in, v->set, other, &words, &e), 0, "the same inputs");
	set[v->l.tensor[0].offset + v->l.tensor[0].bytes - 1] ^= 1;
	is_int(set_inputs(v->in.engine, &v->l, &v->in, v->set, other, &words, &e), 1,
	       "the last byte of the first input");
	set[v->l.tensor[0].offset + v->l.tensor[0].bytes - 1] ^= 1;
	engine_free(v->in.engine, other);
	free(copy.tensors);
	buf_release(&words);
}

static void check_task(const char *name)
{
	struct buf source = BUF_INIT;
	struct engine *x = NULL;
	struct workload *w = NULL;
	struct task t;
	struct err e = { "" };
	int n = 0;

	if (!ok(!task_load(&t, name, &e) && !oracle_source(&t, &source, &e) && (x = engine_host(&source, &e)) &&
		!workloads_load(&t, &w, &n, &e), "%s: its oracle compiles for the host %s", name, e.text))
		return;
	for (int k = 0; k < n; k++) {
		char *where;
		struct view v;

		if (strcmp(w[k].tier, "smoke"))
			continue;
		where = xasprintf("%s %s", name, w[k].id);
		if (ok(!view_open(&v, x, &t, &w[k], &e), "%s: inputs and references %s", where, e.text)) {
			for (int i = 0; i < t.ntensors; i++)
				if (t.tensors[i].role != ROLE_IN)
					check_output(&v, i, where);
			check_bands(&v, where);
			view_close(&v);
		}
		free(where);
	}
	workloads_free(w, n);
	buf_release(&source);
	task_release(&t);
	engine_close(x);
}

int main(void)
{
	struct err e = { "" };
	char **name;
	int n;

	if (!ok(!task_names(&name, &n, &e) && n > 0, "there are tasks %s", e.text))
		return done_testing();
	for (int i = 0; i < n; i++) {
		check_task(name[i]);
		free(name[i]);
	}
	free(name);
	return done_testing();
}
