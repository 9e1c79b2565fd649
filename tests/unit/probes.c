/* The gates of every task there is, on its smoke workloads: the oracle's own answer, rounded, passes; zeros, a
 * constant, a copy of any input, one NaN, a stale buffer, rows moved by one, and lower precision fail, each output on
 * its own, and by a factor of two; but for precision, which is lower by an arbitrary measure, failing is enough. */
#include "../tap/tap.h"
#include "compare.h"
#include "element.h"
#include "file.h"
#include "tolerance.h"
#include "view.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The rounded reference into a buffer of the output's type. */
static void answer(const struct view *v, int i, char *out)
{
	const double *ref = (const double *)(uintptr_t)v->in.ref[i];
	enum dtype t = v->in.task->tensors[i].dtype;

	for (long long k = 0; k < v->in.elements[i]; k++)
		element_put(t, out + (size_t)k * dtype_size[t], ref[k]);
}

/* Each spoils a right answer. False where that means nothing for this output. */
struct probe {
	const char *name;
	bool (*spoil)(struct view *v, int i, char *out);
};

static bool zeros(struct view *v, int i, char *out)
{
	memset(out, 0, v->in.bytes[i]);
	return true;
}

static bool constant(struct view *v, int i, char *out)
{
	size_t size = dtype_size[v->in.task->tensors[i].dtype], n = (size_t)v->in.elements[i];
	char middle[8];

	memcpy(middle, out + n / 2 * size, size);
	for (size_t k = 0; k < n; k++)
		memcpy(out + k * size, middle, size);
	return n > 1;
}

static bool one_nan(struct view *v, int i, char *out)
{
	enum dtype t = v->in.task->tensors[i].dtype;

	element_put(t, out + (size_t)v->in.elements[i] / 2 * dtype_size[t], NAN);
	return !dtype_is_integer(t);
}

/* Should making the inputs fail, the answer stays right, and that is noticed. */
static bool stale(struct view *v, int i, char *out)
{
	struct err ignored;

	if (!view_make(v, 2, &ignored))
		answer(v, i, out);
	view_make(v, 1, &ignored);
	return true;
}

/* Rows of the outermost dimension that has several. */
static bool moved(struct view *v, int i, char *out)
{
	long long shape[TASK_DIMS], n;
	struct err ignored;
	size_t row;
	char *first;
	int d = 0;

	if (tensor_elements(&v->in.task->tensors[i], v->in.workload, shape, &n, &ignored))
		return true;
	while (d < v->in.task->tensors[i].ndim && shape[d] == 1)
		d++;
	if (d == v->in.task->tensors[i].ndim)
		return false;
	row = v->in.bytes[i] / (size_t)shape[d];
	first = xmalloc(row);
	memcpy(first, out, row);
	memmove(out, out + row, v->in.bytes[i] - row);
	memcpy(out + v->in.bytes[i] - row, first, row);
	free(first);
	return true;
}

/* Whether a task lets 16-bit values go into this output: none of its limits would tell. */
static bool lets_short(const struct tensor *t)
{
	for (int k = 0; k < t->nchecks; k++)
		if (t->check[k].metric > METRIC_MAXN || t->check[k].max < 0x1p-8)
			return false;
	return true;
}

/* An element in a coarser type: floats as bf16, 16-bit floats (and others that may be made from such) with two fraction
 * bits, 8-bit ones without their last bit, integers next to the right one. */
static void coarsen(const struct tensor *tensor, char *p)
{
	enum dtype t = tensor->dtype;
	double x = element_get(t, p);
	unsigned char code[8];
	int exponent;

	switch (t) {
	case DT_F64:
	case DT_F32:
		if (!lets_short(tensor)) {
			element_put(DT_BF16, code, x);
			element_put(t, p, element_get(DT_BF16, code));
			break;
		}
		/* fall through */
	case DT_F16:
	case DT_BF16:
		x = rint(8 * frexp(x, &exponent));
		element_put(t, p, ldexp(x, exponent - 3));
		break;
	case DT_F8E4M3:
	case DT_F8E5M2:
		*p = (char)(*p & ~1);
		break;
	default:
		element_put(t, p, x + 1);
	}
}

static bool coarse(struct view *v, int i, char *out)
{
	const struct tensor *t = &v->in.task->tensors[i];

	for (size_t k = 0; k < (size_t)v->in.elements[i]; k++)
		coarsen(t, out + k * dtype_size[t->dtype]);
	return true;
}

static const struct probe probes[] = {
	{ "zeros", zeros }, { "a constant", constant }, { "one NaN", one_nan }, { "the answer to other inputs", stale },
	{ "rows moved by one", moved }, { "lower precision", coarse },
};

/* The values of input j, over and over; for what is input and output, as it was before. */
static void copy_input(const struct view *v, int i, int j, char *out)
{
	enum dtype to = v->in.task->tensors[i].dtype, from = v->in.task->tensors[j].dtype;
	const char *input = (const char *)(uintptr_t)set_tensor(&v->l, &v->set, j);

	for (long long k = 0; k < v->in.elements[i]; k++)
		element_put(to, out + (size_t)k * dtype_size[to],
			    element_get(from, input + (size_t)(k % v->in.elements[j]) * dtype_size[from]));
}

static void must_fail(struct view *v, int i, const char *out, const char *where, const char *with)
{
	struct buf words = BUF_INIT;
	struct err e = { "" };
	struct output o;
	int rc = compare_output(&v->in, i, (uint64_t)(uintptr_t)out, NULL, &o, &e);
	double margin = strcmp(with, "lower precision") ? TOLERANCE_MARGIN : 1;

	if (!rc && !o.ok)
		compare_words(&words, &v->in, &o);
	ok(!rc && !o.ok && compare_worst(&o) >= margin, "%s: %s fails with %s (%s)", where, v->in.task->tensors[i].name, with,
	   words.data ? words.data : e.text);
	if (!strcmp(with, "one NaN"))
		ok(!rc && o.nonfinite == 1 && o.worst_at == v->in.elements[i] / 2, "and the NaN is counted and found");
	buf_release(&words);
}

static void check_output(struct view *v, int i, const char *where)
{
	const struct tensor *tensors = v->in.task->tensors;
	char *out = xmalloc(v->in.bytes[i]);
	struct err e = { "" };
	struct output o;

	answer(v, i, out);
	ok(!compare_output(&v->in, i, (uint64_t)(uintptr_t)out, NULL, &o, &e) && o.ok &&
	   compare_worst(&o) <= 1.0 / TOLERANCE_MARGIN, "%s: %s passes when right %s", where,
	   tensors[i].name, e.text);
	for (size_t p = 0; p < sizeof(probes) / sizeof(*probes); p++) {
		answer(v, i, out);
		if (probes[p].spoil(v, i, out))
			must_fail(v, i, out, where, probes[p].name);
	}
	for (int j = 0; j < v->in.task->ntensors; j++) {
		char *name = xasprintf("a copy of %s", tensors[j].name);

		if (tensors[j].role != ROLE_OUT) {
			copy_input(v, i, j, out);
			must_fail(v, i, out, where, name);
		}
		free(name);
	}
	free(out);
}

/* Guard bands and inputs: a byte changed anywhere near is noticed, and named. */
static void check_bands(struct view *v, const char *where)
{
	int last = v->in.task->ntensors - 1;
	char *first = (char *)(uintptr_t)set_tensor(&v->l, &v->set, 0),
	     *end = (char *)(uintptr_t)set_tensor(&v->l, &v->set, last) + v->in.bytes[last];
	struct buf words = BUF_INIT;
	struct err e = { "" };
	struct set other = { 0 };

	is_int(set_bands(&v->l, &v->set, NULL, &words, &e), 0, "%s: untouched guard bands", where);
	*end ^= 1;
	is_int(set_bands(&v->l, &v->set, NULL, &words, &e), 1, "a byte behind the last tensor");
	ok(words.len && strstr(words.data, v->in.task->tensors[last].name), "is said: %s", words.data);
	*end ^= 1;
	first[-1] ^= 1;
	is_int(set_bands(&v->l, &v->set, NULL, &words, &e), 1, "a byte before the first");
	first[-1] ^= 1;
	if (!ok(!engine_alloc(v->in.engine, v->l.size, &other.base, &e) &&
		!set_make(&v->l, &other, 1, 1, &e), "another set %s", e.text))
		return;
	is_int(set_inputs(&v->l, &v->set, &other, &words, &e), 0, "the same inputs");
	first[v->in.bytes[0] - 1] ^= 1;
	is_int(set_inputs(&v->l, &v->set, &other, &words, &e), 1, "the last byte of the first input");
	first[v->in.bytes[0] - 1] ^= 1;
	engine_free(v->in.engine, other.base);
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
		if (ok(!view_open(&v, x, &t, &w[k], &e) && !view_make(&v, 1, &e), "%s: inputs and references %s",
		       where, e.text)) {
			for (int i = 0; i < t.ntensors; i++)
				if (t.tensors[i].role != ROLE_IN)
					check_output(&v, i, where);
			check_bands(&v, where);
		}
		view_close(&v);
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
