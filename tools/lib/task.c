/* task.json, read strictly: a misspelt key or name is an error here, not a wrong tolerance later. */
#include "task.h"
#include "file.h"
#include "json.h"
#include <ctype.h>
#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const role_name[] = { [ROLE_IN] = "in", [ROLE_OUT] = "out", [ROLE_INOUT] = "inout" };
const char *const metric_name[] = { [METRIC_RFE] = "rfe", [METRIC_ROWS] = "rows", [METRIC_MAXN] = "maxn", [METRIC_EXACT] = "exact",
				    [METRIC_ULP] = "ulp" };

enum { NROLES = sizeof role_name / sizeof *role_name, NMETRICS = sizeof metric_name / sizeof *metric_name };

static int index_of(const char *const *names, int n, const char *name)
{
	for (int i = 0; name && i < n; i++)
		if (!strcmp(names[i], name))
			return i;
	return -1;
}

/* A member that must be a non-empty string, copied; NULL and the reason when it is not. */
static char *need_str(const struct json *obj, const char *key, struct err *e)
{
	const char *s = json_get_str(obj, key);

	if (s && *s)
		return xstrdup(s);
	err_set(e, "'%s' is not a string", key);
	return NULL;
}

static bool is_identifier(const char *s)
{
	if (!s || !(isalpha((unsigned char)*s) || *s == '_'))
		return false;
	while (isalnum((unsigned char)*s) || *s == '_')
		s++;
	return !*s;
}

/* Names become members of one C struct and arguments of one Python function, so they must not repeat. */
static int check_new_name(const struct task *t, const char *name, struct err *e)
{
	bool used = !strcmp(name, "seed");

	for (int i = 0; i < t->ndims; i++)
		used |= !strcmp(t->dims[i], name);
	for (int i = 0; i < t->nparams; i++)
		used |= !strcmp(t->params[i], name);
	for (int i = 0; i < t->ntensors; i++)
		used |= !strcmp(t->tensors[i].name, name);
	for (int i = 0; i < t->ntemps; i++)
		used |= !strcmp(t->temps[i].name, name);
	if (used)
		return err_set(e, "name '%s' is used twice", name);
	if (!strncmp(name, "ref_", 4))
		return err_set(e, "name '%s' begins like a reference", name);
	return is_identifier(name) ? 0 : err_set(e, "'%s' is not an identifier", name);
}

typedef int element_fn(struct task *t, const struct json *element, struct err *e);

/* Calls read for every element of the array `key`; an absent array is empty. Its error gets the place in front. */
static int read_array(struct task *t, const struct json *obj, const char *key, element_fn *read, struct err *e)
{
	const struct json *array = json_get(obj, key);
	struct err why;
	int i = 0;

	if (array && json_type(array) != JSON_ARR)
		return err_set(e, "'%s' is not an array", key);
	for (const struct json *c = json_first(array); c; c = json_next(c), i++)
		if (read(t, c, &why))
			return err_set(e, "%s[%d]: %s", key, i, why.text);
	return 0;
}

static int add_name(struct task *t, char ***names, int *n, const struct json *j, struct err *e)
{
	if (!json_str(j))
		return err_set(e, "not a string");
	if (check_new_name(t, json_str(j), e))
		return -1;
	*names = xrealloc(*names, ((size_t)*n + 1) * sizeof **names);
	(*names)[(*n)++] = xstrdup(json_str(j));
	return 0;
}

static int read_dim(struct task *t, const struct json *j, struct err *e)
{
	return add_name(t, &t->dims, &t->ndims, j, e);
}

static int read_param(struct task *t, const struct json *j, struct err *e)
{
	return add_name(t, &t->params, &t->nparams, j, e);
}

/* {"metric": "rfe"|"rows"|"maxn", "max": x} or {"metric": "exact"} or {"metric": "ulp", "share": x, "max": n, "equal": x},
 * "max" and "equal" of ulp may be left out */
static int read_check(struct tensor *x, const struct json *j, struct err *e)
{
	static const char *const limit[] = { "metric", "max", NULL }, *const none[] = { "metric", NULL },
		*const share[] = { "metric", "share", "max", "equal", NULL };
	static const char *const *const keys[] = { [METRIC_RFE] = limit, [METRIC_ROWS] = limit, [METRIC_MAXN] = limit,
						   [METRIC_EXACT] = none, [METRIC_ULP] = share };
	int metric = index_of(metric_name, NMETRICS, json_get_str(j, "metric"));
	struct check *c = &x->check[x->nchecks];

	if (metric < 0)
		return err_set(e, "unknown metric '%s'", json_get_str(j, "metric") ? json_get_str(j, "metric") : "");
	if (x->nchecks == TASK_CHECKS)
		return err_set(e, "more than %d checks", TASK_CHECKS);
	if (json_only_keys(j, keys[metric], e))
		return -1;
	*c = (struct check){ (enum metric)metric, json_get_num(j, "max", 0), json_get_num(j, "share", 0),
			     json_get_num(j, "equal", 0) };
	if (metric != METRIC_EXACT && (metric != METRIC_ULP || json_get(j, "max")) && !(c->max > 0))
		return err_set(e, "'max' is not a number over 0");
	if (metric == METRIC_ULP && !(c->share > 0 && c->share <= 1))
		return err_set(e, "'share' is not a number over 0 and at most 1");
	if (json_get(j, "equal") && !(c->equal > 0 && c->equal <= 1))
		return err_set(e, "'equal' is not a number over 0 and at most 1");
	if (metric == METRIC_ULP && (dtype_is_integer(x->dtype) || c->max != floor(c->max)))
		return err_set(e, "'ulp' wants a floating type and a whole 'max'");
	x->nchecks++;
	return 0;
}

static int read_shape(struct tensor *x, const struct json *shape, struct err *e)
{
	if (json_type(shape) != JSON_ARR || json_len(shape) < 1 || json_len(shape) > TASK_DIMS)
		return err_set(e, "'shape' is not an array of 1 to %d expressions", TASK_DIMS);
	for (const struct json *c = json_first(shape); c; c = json_next(c)) {
		if (!json_str(c))
			return err_set(e, "'shape' has an element that is not a string");
		x->shape[x->ndim++] = xstrdup(json_str(c));
	}
	return 0;
}

static int read_tensor(struct task *t, const struct json *j, struct err *e)
{
	static const char *const keys[] = { "name", "role", "dtype", "shape", "check", NULL };
	const char *dtype = json_get_str(j, "dtype");
	int role = index_of(role_name, NROLES, json_get_str(j, "role"));
	struct tensor *x = &t->tensors[t->ntensors];

	if (json_only_keys(j, keys, e) || !(x->name = need_str(j, "name", e)))
		return -1;
	if (check_new_name(t, x->name, e)) {
		free(x->name);
		return -1;
	}
	t->ntensors++;	/* from here on task_release() sees it */
	if (role < 0)
		return err_set(e, "'role' is none of in, out, inout");
	x->role = (enum role)role;
	if (!dtype || dtype_parse(dtype, &x->dtype))
		return err_set(e, "unknown dtype '%s'", dtype ? dtype : "");
	if (read_shape(x, json_get(j, "shape"), e))
		return -1;
	for (const struct json *c = json_first(json_get(j, "check")); c; c = json_next(c))
		if (read_check(x, c, e))
			return -1;
	if ((x->nchecks > 0) != (x->role != ROLE_IN))
		return err_set(e, x->nchecks ? "an input has a 'check'" : "an output has no 'check'");
	return 0;
}

static int read_array_of_doubles(struct task *t, const struct json *j, bool draw, struct err *e)
{
	static const char *const keys[] = { "name", "count", NULL };
	struct temp *x = &t->temps[t->ntemps];

	if (json_only_keys(j, keys, e) || !(x->name = need_str(j, "name", e)))
		return -1;
	if (check_new_name(t, x->name, e)) {
		free(x->name);
		return -1;
	}
	x->draw = draw;
	t->ntemps++;
	return (x->count = need_str(j, "count", e)) ? 0 : -1;
}

static int read_draw(struct task *t, const struct json *j, struct err *e)
{
	return read_array_of_doubles(t, j, true, e);
}

static int read_temp(struct task *t, const struct json *j, struct err *e)
{
	return read_array_of_doubles(t, j, false, e);
}

/* {"stage": name, "count": expr} */
static int read_stage(struct stage *s, const struct json *j, struct err *e)
{
	static const char *const keys[] = { "stage", "count", NULL };

	if (json_only_keys(j, keys, e) || !(s->name = need_str(j, "stage", e)) || !(s->count = need_str(j, "count", e)))
		return -1;
	return is_identifier(s->name) ? 0 : err_set(e, "stage '%s' is not an identifier", s->name);
}

/* {"product": {"c", "a", "b": names, "ta", "tb": bool, "batch", "m", "n", "k": expr}} */
static int read_product(struct stage *s, const struct json *j, struct err *e)
{
	static const char *const keys[] = { "c", "a", "b", "ta", "tb", "batch", "m", "n", "k", NULL };
	static const char *const outer[] = { "product", NULL };
	const struct json *p = json_get(j, "product");

	if (json_only_keys(j, outer, e) || json_only_keys(p, keys, e))
		return -1;
	if (!(s->c = need_str(p, "c", e)) || !(s->a = need_str(p, "a", e)) || !(s->b = need_str(p, "b", e)) ||
	    !(s->m = need_str(p, "m", e)) || !(s->n = need_str(p, "n", e)) || !(s->k = need_str(p, "k", e)))
		return -1;
	s->batch = json_get(p, "batch") ? need_str(p, "batch", e) : xstrdup("1");
	s->ta = json_bool(json_get(p, "ta"), false);
	s->tb = json_bool(json_get(p, "tb"), false);
	return s->batch ? 0 : -1;
}

static int read_generate(struct task *t, const struct json *j, struct err *e)
{
	return read_stage(&t->generate[t->ngenerate++], j, e);
}

static int read_oracle(struct task *t, const struct json *j, struct err *e)
{
	struct stage *s = &t->oracle[t->noracle++];

	return json_get(j, "product") ? read_product(s, j, e) : read_stage(s, j, e);
}

static void *array_for(const struct json *j, const char *key, size_t size)
{
	return xcalloc((size_t)json_len(json_get(j, key)) + 1, size);
}

static int read_task(struct task *t, const struct json *j, const char *name, struct err *e)
{
	static const char *const keys[] = { "version", "name", "title", "dims", "params", "tensors", "draws", "temps",
					    "generate", "oracle", "bytes", "flops", "flop_unit", "source", NULL };
	static const char *const units[] = { "bf16", "fp16", "tf32", "fp8", "int8", "fp32", "fp64" };

	t->tensors = array_for(j, "tensors", sizeof *t->tensors);
	t->temps = xcalloc((size_t)json_len(json_get(j, "draws")) + (size_t)json_len(json_get(j, "temps")) + 1,
			   sizeof *t->temps);
	t->generate = array_for(j, "generate", sizeof *t->generate);
	t->oracle = array_for(j, "oracle", sizeof *t->oracle);
	if (json_type(j) != JSON_OBJ)
		return err_set(e, "not a JSON object");
	if (json_only_keys(j, keys, e))
		return -1;
	if (json_get_int(j, "version", 0) != 1)
		return err_set(e, "'version' is not 1");
	if (!json_get_str(j, "name") || strcmp(json_get_str(j, "name"), name))
		return err_set(e, "'name' is not the folder's");
	if (!(t->title = need_str(j, "title", e)) || !(t->bytes = need_str(j, "bytes", e)) ||
	    !(t->flops = need_str(j, "flops", e)) || !(t->flop_unit = need_str(j, "flop_unit", e)))
		return -1;
	if (index_of(units, sizeof units / sizeof *units, t->flop_unit) < 0)
		return err_set(e, "unknown flop_unit '%s'", t->flop_unit);
	if (!json_get_str(j, "source"))
		return err_set(e, "'source' is not a string");
	if (read_array(t, j, "dims", read_dim, e) || read_array(t, j, "params", read_param, e) ||
	    read_array(t, j, "tensors", read_tensor, e) || read_array(t, j, "draws", read_draw, e) ||
	    read_array(t, j, "temps", read_temp, e) || read_array(t, j, "generate", read_generate, e) ||
	    read_array(t, j, "oracle", read_oracle, e))
		return -1;
	return t->ntensors && t->ngenerate && t->noracle ? 0 : err_set(e, "'tensors', 'generate' or 'oracle' is empty");
}

bool task_is_name(const char *s)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";

	return *s && *s != '.' && strspn(s, allowed) == strlen(s);
}

static int hash_oracle(struct task *t, struct err *e)
{
	static const char *const files[] = { "task.json", "oracle.c" };
	struct hash_parts h = { BUF_INIT };
	int rc = 0;

	for (int i = 0; rc == 0 && i < 2; i++) {
		char *path = xasprintf("%s/%s", t->dir, files[i]);
		struct buf b = BUF_INIT;

		rc = file_read(path, &b, e);
		hash_part(&h, files[i], b.data, b.len);
		buf_release(&b);
		free(path);
	}
	hash_done(&h, t->oracle_hash);
	return rc;
}

static int hash_inputs(struct task *t, struct err *e)
{
	char *text = xasprintf("%s/task.md", t->dir), *workloads = file_in_root("workloads/%s.jsonl", t->name);
	int rc = hash_file(text, t->text_hash, e);

	if (rc == 0)
		rc = hash_file(workloads, t->workloads_hash, e);
	if (rc == 0)
		rc = hash_oracle(t, e);
	free(text);
	free(workloads);
	return rc;
}

int task_load(struct task *t, const char *name, struct err *e)
{
	struct json *j = NULL;
	struct err why;
	char *path;
	int rc = -1;

	*t = (struct task){ 0 };
	if (!task_is_name(name))	/* a record's word must not lead out of tasks/ */
		return err_set(e, "'%s' is no name of a task", name);
	t->name = xstrdup(name);
	t->dir = file_in_root("tasks/%s", name);
	path = xasprintf("%s/task.json", t->dir);
	j = json_parse_file(path, e);
	if (!j)
		goto out;
	rc = read_task(t, j, name, &why);
	if (rc)
		err_set(e, "'%s': %s", path, why.text);
	else
		rc = hash_inputs(t, e);
out:
	json_free(j);
	free(path);
	if (rc)
		task_release(t);
	return rc;
}

static void free_names(char **names, int n)
{
	for (int i = 0; i < n; i++)
		free(names[i]);
	free(names);
}

static void free_stages(struct stage *s, int n)
{
	for (int i = 0; i < n; i++) {
		char *const all[] = { s[i].name, s[i].count, s[i].a, s[i].b, s[i].c,
				      s[i].batch, s[i].m, s[i].n, s[i].k };

		for (size_t k = 0; k < sizeof all / sizeof *all; k++)
			free(all[k]);
	}
	free(s);
}

void task_release(struct task *t)
{
	for (int i = 0; i < t->ntensors; i++) {
		free(t->tensors[i].name);
		for (int d = 0; d < t->tensors[i].ndim; d++)
			free(t->tensors[i].shape[d]);
	}
	for (int i = 0; i < t->ntemps; i++) {
		free(t->temps[i].name);
		free(t->temps[i].count);
	}
	free(t->tensors);
	free(t->temps);
	free_stages(t->generate, t->ngenerate);
	free_stages(t->oracle, t->noracle);
	free_names(t->dims, t->ndims);
	free_names(t->params, t->nparams);
	free(t->name);
	free(t->title);
	free(t->dir);
	free(t->bytes);
	free(t->flops);
	free(t->flop_unit);
	*t = (struct task){ 0 };
}

static int has_task_json(const struct dirent *d)
{
	char *path = file_in_root("tasks/%s/task.json", d->d_name);
	bool found = task_is_name(d->d_name) && file_exists(path);

	free(path);
	return found;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

int task_names(char ***names, int *n, struct err *e)
{
	char *dir = file_in_root("tasks");
	struct dirent **entries = NULL;
	int found = scandir(dir, &entries, has_task_json, by_name);

	if (found < 0)
		err_set(e, "cannot read directory '%s':", dir);
	free(dir);
	if (found < 0)
		return -1;
	*names = xcalloc((size_t)found + 1, sizeof **names);
	*n = found;
	for (int i = 0; i < found; i++) {
		(*names)[i] = xstrdup(entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	return 0;
}
