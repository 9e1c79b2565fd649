/* workloads/NAME.jsonl, read strictly, and what a task's expressions come to for a workload. */
#include "file.h"
#include "json.h"
#include "scan.h"
#include "task.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Gives vars the values of the names in obj, which must hold exactly these. */
static int read_vars(struct workload *w, const struct json *obj, const char *key, char *const *names, int n, bool whole,
		     struct err *e)
{
	const struct json *values = json_get(obj, key);

	if (values && json_type(values) != JSON_OBJ)
		return err_set(e, "'%s' is not an object", key);
	for (int i = 0; i < n; i++) {
		double x = json_get_num(values, names[i], NAN);

		if (isnan(x) || (whole && json_get_int(values, names[i], -1) < 0))
			return err_set(e, "%s: '%s' is not a %s number", key, names[i], whole ? "whole" : "finite");
		w->vars[w->nvars++] = (struct var){ names[i], x };
	}
	return json_len(values) == n ? 0 : err_set(e, "'%s' has a name that the task has not", key);
}

/* A count of things: whole, at least 1, and exact as a double. */
static int eval_count(const char *text, const struct workload *w, long long *out, struct err *e)
{
	double x;

	if (expr_eval(text, w->vars, w->nvars, &x, e))
		return -1;
	if (!(x >= 1 && x < 0x1p53) || x != floor(x))
		return err_set(e, "'%s' is %.17g, not a whole number over 0", text, x);
	*out = (long long)x;
	return 0;
}

int tensor_elements(const struct tensor *t, const struct workload *w, long long *shape, long long *n, struct err *e)
{
	long long extent, product = 1;

	for (int d = 0; d < t->ndim; d++) {
		if (eval_count(t->shape[d], w, &extent, e))
			return -1;
		if (shape)
			shape[d] = extent;
		if (__builtin_mul_overflow(product, extent, &product) || product >= 1LL << 50)
			return err_set(e, "tensor '%s' is too large", t->name);
	}
	*n = product;
	return 0;
}

static int check_stages(const struct stage *s, int n, const struct workload *w, struct err *e)
{
	long long ignored;

	for (int i = 0; i < n; i++) {
		const char *const all[] = { s[i].count, s[i].batch, s[i].m, s[i].n, s[i].k };

		for (size_t k = 0; k < sizeof all / sizeof *all; k++)
			if (all[k] && eval_count(all[k], w, &ignored, e))
				return -1;
	}
	return 0;
}

/* Every expression of the task has a value for this workload. */
static int check_expressions(const struct task *t, const struct workload *w, struct err *e)
{
	long long ignored;
	double x;

	for (int i = 0; i < t->ntensors; i++)
		if (tensor_elements(&t->tensors[i], w, NULL, &ignored, e))
			return -1;
	for (int i = 0; i < t->ntemps; i++)
		if (eval_count(t->temps[i].count, w, &ignored, e))
			return -1;
	if (check_stages(t->generate, t->ngenerate, w, e) || check_stages(t->oracle, t->noracle, w, e))
		return -1;
	if (expr_eval(t->bytes, w->vars, w->nvars, &x, e) || (x < 0 && err_set(e, "'bytes' is below 0")))
		return -1;
	return expr_eval(t->flops, w->vars, w->nvars, &x, e) || (x < 0 && err_set(e, "'flops' is below 0")) ? -1 : 0;
}

/* {"id": text, "tier": "bench"|"smoke", "dims": {name: whole number}, "params": {name: number}, "origin": text} */
static int read_workload(const struct task *t, struct workload *w, const struct json *j, struct err *e)
{
	static const char *const keys[] = { "id", "tier", "dims", "params", "origin", NULL };
	const char *id = json_get_str(j, "id"), *tier = json_get_str(j, "tier"), *origin = json_get_str(j, "origin");

	w->vars = xcalloc((size_t)(t->ndims + t->nparams) + 1, sizeof *w->vars);
	if (json_type(j) != JSON_OBJ)
		return err_set(e, "not a JSON object");
	if (json_only_keys(j, keys, e))
		return -1;
	if (!id || !task_is_name(id))
		return err_set(e, "'id' is not a name of letters, digits, '.', '_' and '-'");
	if (!tier || (strcmp(tier, "bench") && strcmp(tier, "smoke")))
		return err_set(e, "'tier' is neither bench nor smoke");
	if (!origin)
		return err_set(e, "'origin' is not a string");
	w->id = xstrdup(id);
	w->tier = xstrdup(tier);
	w->origin = xstrdup(origin);
	if (read_vars(w, j, "dims", t->dims, t->ndims, true, e) ||
	    read_vars(w, j, "params", t->params, t->nparams, false, e))
		return -1;
	return check_expressions(t, w, e);
}

/* The member's text: to Python, 1 is an int and 1.0 a float. */
static int keep_params(struct workload *w, const char *line, size_t len, struct err *e)
{
	const struct scan_member *m;
	struct scan s;

	if (scan_object(line, len, &s, e))
		return -1;
	m = scan_find(&s, "params");
	w->params = m ? xstrndup(m->value.p, m->value.n) : xstrdup("{}");
	return 0;
}

/* One line: the workload is appended to (*list)[0..*n). */
static int add_line(const struct task *t, struct workload **list, int *n, const char *line, size_t len, struct err *e)
{
	struct json *j = json_parse(line, len, e);
	struct workload *w;
	int rc;

	if (!j)
		return -1;
	*list = xrealloc(*list, ((size_t)*n + 1) * sizeof **list);
	w = &(*list)[(*n)++];
	*w = (struct workload){ 0 };
	rc = read_workload(t, w, j, e) || keep_params(w, line, len, e) ? -1 : 0;
	for (int i = 0; rc == 0 && i < *n - 1; i++)
		if (!strcmp((*list)[i].id, w->id))
			rc = err_set(e, "id '%s' is used twice", w->id);
	json_free(j);
	return rc;
}

int workloads_load(const struct task *t, struct workload **out, int *n, struct err *e)
{
	char *path = file_in_root("workloads/%s.jsonl", t->name), *p, *end, *newline;
	struct buf text = BUF_INIT;
	struct err why;
	int rc = file_read(path, &text, e), line = 0;

	*out = NULL;
	*n = 0;
	p = text.data;
	for (end = p + text.len; rc == 0 && p < end; p = newline + 1) {
		newline = memchr(p, '\n', (size_t)(end - p));
		newline = newline ? newline : end;
		line++;
		rc = add_line(t, out, n, p, (size_t)(newline - p), &why);
		if (rc)
			err_set(e, "%s:%d: %s", path, line, why.text);
	}
	if (rc == 0 && *n == 0)
		rc = err_set(e, "'%s' has no workload", path);
	if (rc) {
		workloads_free(*out, *n);
		*out = NULL;
		*n = 0;
	}
	buf_release(&text);
	free(path);
	return rc;
}

void workloads_free(struct workload *w, int n)
{
	for (int i = 0; i < n; i++) {
		free(w[i].id);
		free(w[i].tier);
		free(w[i].origin);
		free(w[i].vars);
		free(w[i].params);
	}
	free(w);
}
