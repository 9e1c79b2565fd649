/* Making an oracle's source, and running one workload of it. */
#include "oracle.h"
#include "file.h"
#include "../oracle/oracle.h"
#include "../oracle/kernels.h"
#include <stdlib.h>
#include <string.h>

enum { WORDS_MAX = 256 };	/* fields of struct task: 2 KiB of kernel parameters, the limit is 4 KiB */

/* ---- source */

static bool is_input(const struct tensor *t)
{
	return t->role != ROLE_OUT;
}

static bool is_output(const struct tensor *t)
{
	return t->role != ROLE_IN;
}

/* Appends a file; an include of oracle.h or kernels.h becomes an empty line, because their text stands above. */
static int add_file(struct buf *out, const char *path, const char *shown, struct err *e)
{
	struct buf text = BUF_INIT;
	const char *p, *end;
	int rc = file_read(path, &text, e);

	buf_addf(out, "#line 1 \"%s\"\n", shown);
	for (p = text.data; !rc && p && *p; p = end) {
		const char *nl = strchr(p, '\n'), *q = p + strspn(p, " \t");

		end = nl ? nl + 1 : p + strlen(p);
		if (*q == '#' && (!strncmp(q, "#include \"oracle.h\"", 19) ||
				  !strncmp(q, "#include \"kernels.h\"", 20)))
			buf_addch(out, '\n');
		else
			buf_add(out, p, (size_t)(end - p));
	}
	buf_addch(out, '\n');
	buf_release(&text);
	return rc;
}

static int add_tool_file(struct buf *out, const char *name, struct err *e)
{
	char *path = file_in_root("tools/oracle/%s", name);
	int rc = add_file(out, path, name, e);

	free(path);
	return rc;
}

static void add_struct(struct buf *out, const struct task *t)
{
	buf_addstr(out, "struct task {\n\tu64 seed;\n");
	for (int i = 0; i < t->ndims; i++)
		buf_addf(out, "\ti64 %s;\n", t->dims[i]);
	for (int i = 0; i < t->nparams; i++)
		buf_addf(out, "\tdouble %s;\n", t->params[i]);
	for (int i = 0; i < t->ntensors; i++)
		if (is_input(&t->tensors[i]))
			buf_addf(out, "\t%s *%s;\n", dtype_ctype[t->tensors[i].dtype], t->tensors[i].name);
	for (int i = 0; i < t->ntensors; i++)
		if (is_output(&t->tensors[i]))
			buf_addf(out, "\tdouble *ref_%s;\n", t->tensors[i].name);
	for (int i = 0; i < t->ntemps; i++)
		buf_addf(out, "\tdouble *%s;\n", t->temps[i].name);
	buf_addstr(out, "};\n");
}

int oracle_source(const struct task *t, struct buf *out, struct err *e)
{
	char *path = xasprintf("%s/oracle.c", t->dir), *shown = xasprintf("tasks/%s/oracle.c", t->name);
	int rc = -1;

	if (add_tool_file(out, "oracle.h", e))
		goto out;
	add_struct(out, t);
	if (!add_file(out, path, shown, e) && !add_tool_file(out, "kernels.h", e))
		rc = add_tool_file(out, "kernels.c", e);
out:
	free(path);
	free(shown);
	return rc;
}

/* ---- an instance */

static int eval_count(const char *text, const struct workload *w, const char *what, long long *out, struct err *e)
{
	struct err why = { "" };
	double x;

	if (expr_eval(text, w->vars, w->nvars, &x, &why))
		return err_set(e, "%s: %s", what, why.text);
	if (!(x >= 0 && x <= 1e12) || x != (double)(long long)x)
		return err_set(e, "%s: '%s' is %g, not a count", what, text, x);
	*out = (long long)x;
	return 0;
}

static int eval_product(const struct stage *s, const struct workload *w, long long out[4], struct err *e)
{
	const char *text[4] = { s->batch ? s->batch : "1", s->m, s->n, s->k };

	for (int i = 0; i < 4; i++)
		if (eval_count(text[i], w, "product", &out[i], e))
			return -1;
	return 0;
}

static int find_temp(const struct task *t, const char *name)
{
	for (int i = 0; i < t->ntemps; i++)
		if (!strcmp(t->temps[i].name, name))
			return i;
	return -1;
}

/* A product's operands are temps, or the reference of an output: its address, with room for `count` doubles. */
static int operand(const struct instance *in, const char *name, long long count, uint64_t *p, struct err *e)
{
	int i = find_temp(in->task, name);

	if (i >= 0) {
		*p = in->temp[i];
		return in->temp_count[i] >= count ? 0 : err_set(e, "product: '%s' holds %lld doubles, %lld needed",
								name, in->temp_count[i], count);
	}
	for (i = 0; i < in->task->ntensors; i++)
		if (!strncmp(name, "ref_", 4) && !strcmp(name + 4, in->task->tensors[i].name) && in->ref[i]) {
			*p = in->ref[i];
			return in->elements[i] >= count ? 0 : err_set(e, "product: '%s' is too small", name);
		}
	return err_set(e, "product: no temp '%s'", name);
}

static int eval_stages(struct instance *in, const struct stage *s, int n, long long *count, long long (*product)[4],
		       struct err *e)
{
	for (int i = 0; i < n; i++) {
		if (s[i].name ? eval_count(s[i].count, in->workload, s[i].name, &count[i], e)
			      : eval_product(&s[i], in->workload, product[i], e))
			return -1;
	}
	return 0;
}

/* Room for so many doubles, unless there is. */
static int want_doubles(struct instance *in, long long n, uint64_t *p, struct err *e)
{
	return *p ? 0 : engine_alloc(in->engine, (size_t)n * sizeof(double), p, e);
}

static int want_temps(struct instance *in, bool draws, struct err *e)
{
	for (int i = 0; i < in->task->ntemps; i++)
		if (in->task->temps[i].draw == draws && want_doubles(in, in->temp_count[i], &in->temp[i], e))
			return -1;
	return 0;
}

static int want_refs(struct instance *in, struct err *e)
{
	for (int i = 0; i < in->task->ntensors; i++)
		if (is_output(&in->task->tensors[i]) && want_doubles(in, in->elements[i], &in->ref[i], e))
			return -1;
	return 0;
}

/* The task's least traffic or arithmetic; NaN where the formula is missing. */
static int eval_formula(const char *text, const struct workload *w, double *out, struct err *e)
{
	*out = __builtin_nan("");
	return text ? expr_eval(text, w->vars, w->nvars, out, e) : 0;
}

int instance_open(struct instance *in, struct engine *x, const struct task *t, const struct workload *w, struct err *e)
{
	size_t nt = (size_t)t->ntensors, extra = 1;

	*in = (struct instance){ .engine = x, .task = t, .workload = w };
	in->elements = xcalloc(nt + extra, sizeof(*in->elements));
	in->bytes = xcalloc(nt + extra, sizeof(*in->bytes));
	in->ref = xcalloc(nt + extra, sizeof(*in->ref));
	in->temp = xcalloc((size_t)t->ntemps + extra, sizeof(*in->temp));
	in->temp_count = xcalloc((size_t)t->ntemps + extra, sizeof(*in->temp_count));
	in->gen_count = xcalloc((size_t)t->ngenerate + extra, sizeof(*in->gen_count));
	in->ref_count = xcalloc((size_t)t->noracle + extra, sizeof(*in->ref_count));
	in->product = xcalloc((size_t)t->noracle + extra, sizeof(*in->product));
	if (1 + (size_t)t->ndims + (size_t)t->nparams + 2 * nt + (size_t)t->ntemps > WORDS_MAX)
		return err_set(e, "the task has more than %d dims, params, tensors and temps", WORDS_MAX);
	for (size_t i = 0; i < nt; i++) {
		if (tensor_elements(&t->tensors[i], w, NULL, &in->elements[i], e))
			return -1;
		in->bytes[i] = (size_t)in->elements[i] * dtype_size[t->tensors[i].dtype];
	}
	for (int i = 0; i < t->ntemps; i++)
		if (eval_count(t->temps[i].count, w, t->temps[i].name, &in->temp_count[i], e))
			return -1;
	for (int i = 0; i < t->ngenerate; i++)
		if (!t->generate[i].name)
			return err_set(e, "a product cannot generate inputs");
	if (eval_formula(t->bytes, w, &in->least_bytes, e) || eval_formula(t->flops, w, &in->least_flops, e) ||
	    eval_stages(in, t->generate, t->ngenerate, in->gen_count, NULL, e))
		return -1;
	return eval_stages(in, t->oracle, t->noracle, in->ref_count, in->product, e);
}

double instance_memory(const struct instance *in)
{
	double doubles = 0;

	for (int i = 0; i < in->task->ntensors; i++)
		if (is_output(&in->task->tensors[i]))
			doubles += (double)in->elements[i];
	for (int i = 0; i < in->task->ntemps; i++)
		doubles += (double)in->temp_count[i];
	return sizeof(double) * doubles;
}

static void let_go(struct engine *x, uint64_t *p)
{
	engine_free(x, *p);
	*p = 0;
}

int instance_spoil(struct instance *in, uint8_t with, struct err *e)
{
	for (int i = 0; i < in->task->ntemps; i++)
		if (in->temp[i] && engine_fill(in->engine, in->temp[i], with, sizeof(double) * (size_t)in->temp_count[i], e))
			return -1;
	return 0;
}

void instance_forget(struct instance *in)
{
	for (int i = 0; i < in->task->ntensors; i++)
		let_go(in->engine, &in->ref[i]);
	for (int i = 0; i < in->task->ntemps; i++)
		if (!in->task->temps[i].draw)
			let_go(in->engine, &in->temp[i]);
	let_go(in->engine, &in->partials);
}

void instance_release(struct instance *in)
{
	if (in->ref)
		instance_forget(in);
	for (int i = 0; in->temp && i < in->task->ntemps; i++)
		let_go(in->engine, &in->temp[i]);
	free(in->elements);
	free(in->bytes);
	free(in->ref);
	free(in->temp);
	free(in->temp_count);
	free(in->gen_count);
	free(in->ref_count);
	free(in->product);
	*in = (struct instance){ 0 };
}

/* struct task of the oracle's source, field by field. */
static void fill_words(const struct instance *in, uint64_t seed, const uint64_t *tensors, uint64_t *word)
{
	const struct task *t = in->task;
	int n = 0;

	word[n++] = seed;
	for (int i = 0; i < t->ndims; i++)
		word[n++] = (uint64_t)(int64_t)in->workload->vars[i].value;
	for (int i = 0; i < t->nparams; i++)
		memcpy(&word[n++], &in->workload->vars[t->ndims + i].value, sizeof(double));
	for (int i = 0; i < t->ntensors; i++)
		if (is_input(&t->tensors[i]))
			word[n++] = tensors[i];
	for (int i = 0; i < t->ntensors; i++)
		if (is_output(&t->tensors[i]))
			word[n++] = in->ref[i];
	for (int i = 0; i < t->ntemps; i++)
		word[n++] = in->temp[i];
}

static int run_product(struct instance *in, const struct stage *s, const long long d[4], struct err *e)
{
	long long batch = d[0], m = d[1], n = d[2], k = d[3];
	unsigned grid[3] = { (unsigned)((n + 127) / 128), (unsigned)((m + 127) / 128), (unsigned)batch };
	struct product p = { .batch = batch, .m = m, .n = n, .k = k, .ta = s->ta, .tb = s->tb };
	uint64_t c, a, b;

	if (!batch || !m || !n)
		return 0;
	if (batch > 65535 || (m + 127) / 128 > 65535)
		return err_set(e, "product: %lld x %lld x %lld is too large", batch, m, n);
	if (operand(in, s->c, batch * m * n, &c, e) || operand(in, s->a, batch * m * k, &a, e) ||
	    operand(in, s->b, batch * k * n, &b, e))
		return -1;
	if (c == a || c == b)
		return err_set(e, "product: '%s' is both result and operand", s->c);
	p.c = (double *)(uintptr_t)c;
	p.a = (const double *)(uintptr_t)a;
	p.b = (const double *)(uintptr_t)b;
	return engine_run_grid(in->engine, "product", &p, grid, e);
}

static int run_stages(struct instance *in, const struct stage *s, int n, const long long *count, uint64_t seed,
		      const uint64_t *tensors, struct err *e)
{
	uint64_t word[WORDS_MAX];
	int rc = 0;

	fill_words(in, seed, tensors, word);
	for (int i = 0; i < n && !rc; i++) {
		if (s[i].name) {
			char *kernel = xasprintf("stage_%s", s[i].name);

			rc = engine_run(in->engine, kernel, word, count[i], e);
			free(kernel);
		} else {
			rc = run_product(in, &s[i], in->product[i], e);
		}
	}
	return rc;
}

int instance_generate(struct instance *in, uint64_t seed, const uint64_t *tensors, struct err *e)
{
	return want_temps(in, true, e) ||
	       run_stages(in, in->task->generate, in->task->ngenerate, in->gen_count, seed, tensors, e) ? -1 : 0;
}

int instance_reference(struct instance *in, uint64_t seed, const uint64_t *tensors, struct err *e)
{
	return want_temps(in, false, e) || want_refs(in, e) ||
	       run_stages(in, in->task->oracle, in->task->noracle, in->ref_count, seed, tensors, e) ? -1 : 0;
}
