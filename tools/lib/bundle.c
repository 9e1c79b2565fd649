/* Reading bundles. The format is documented in the man page of d2k-build. */
#include "bundle.h"
#include "base64.h"
#include "cubin.h"
#include "json.h"
#include "scan.h"
#include "sets.h"
#include "../oracle/oracle.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	MAX_KERNELS = 4096, MAX_PLANS = 64, MAX_BUFFERS = 1024, MAX_STEPS = 4096, MAX_VARIANTS = 512,
	MAX_CUBIN = 64 << 20,
};
#define MAX_BYTES (1LL << 40)	/* of one buffer */
#define MAX_SCRATCH (16LL << 30)	/* bytes of all scratch of a plan */
#define MAX_SHARED (227 * 1024)		/* bytes that a block can have, on any GPU there is */

static long long whole(const struct json *obj, const char *key, long long min, long long max, bool *bad)
{
	long long x = json_get_int(obj, key, min - 1);

	if (x < min || x > max)
		*bad = true;
	return x;
}

/* A whole number given as a number or, beyond 2^53, as a string. */
static int wide(const struct json *j, uint64_t *out)
{
	const char *s = json_str(j);
	char *end;

	if (json_type(j) == JSON_BOOL) {
		*out = json_bool(j, false);
		return 0;
	}
	if (s) {
		*out = *s == '-' ? (uint64_t)strtoll(s, &end, 10) : strtoull(s, &end, 10);
		return *s && !*end ? 0 : -1;
	}
	if (json_type(j) != JSON_NUM || json_num(j, 0.5) != floor(json_num(j, 0.5)) || fabs(json_num(j, 0)) > 0x1p53)
		return -1;
	*out = (uint64_t)(int64_t)json_num(j, 0);
	return 0;
}

static int real(const struct json *j, double *out)
{
	const char *s = json_str(j);

	if (json_type(j) == JSON_NUM) {
		*out = json_num(j, 0);
		return 0;
	}
	if (!s)
		return -1;
	*out = !strcmp(s, "nan") ? NAN : !strcmp(s, "inf") ? INFINITY : -INFINITY;
	return !strcmp(s, "nan") || !strcmp(s, "inf") || !strcmp(s, "-inf") ? 0 : -1;
}

/* ---- kernels */

/* A figure that is only shown; -1 unless it is a sensible one. */
static int claim(const struct json *kernel, const char *key)
{
	long long x = json_get_int(kernel, key, -1);

	return x >= 0 && x <= 1 << 24 ? (int)x : -1;
}

static int parse_kernel(struct kernel *k, const struct json *j, struct err *e)
{
	const char *name = json_get_str(j, "name"), *cubin = json_get_str(j, "cubin"), *hash = json_get_str(j, "hash");
	const struct json *cluster = json_get(j, "cluster");
	long long ctas = 1;
	bool bad = false;

	if (!name || !*name || !cubin)
		return err_set(e, "a kernel without name or cubin");
	k->name = xstrdup(name);
	k->cubin = base64_decode(cubin, MAX_CUBIN, &k->cubin_bytes);
	/* an ELF header is 64 bytes: the driver reads the image's own sizes from it */
	if (!k->cubin || k->cubin_bytes < 64 || memcmp(k->cubin, "\177ELF", 4))
		return err_set(e, "kernel '%s': the cubin is not one", name);
	hash_hex(k->cubin, k->cubin_bytes, k->hash);
	if (hash && strcmp(hash, k->hash))
		return err_set(e, "kernel '%s': the cubin does not have the hash it claims", name);
	k->shared = (unsigned)whole(j, "shared", 0, MAX_SHARED, &bad);
	if (bad)
		return err_set(e, "kernel '%s': its shared memory is out of range", name);
	k->warps = (unsigned)whole(j, "num_warps", 1, 32, &bad);
	k->ctas = (unsigned)whole(j, "num_ctas", 1, 16, &bad);
	k->registers = claim(j, "registers");
	k->spills = claim(j, "spills");
	k->stack = claim(j, "stack");
	k->cooperative = json_bool(json_get(j, "cooperative"), false);
	k->pdl = json_bool(json_get(j, "pdl"), false);
	k->global_scratch = (size_t)json_get_int(j, "global_scratch_size", 0);
	k->global_scratch_align = (size_t)json_get_int(j, "global_scratch_align", 1);
	for (const struct json *c = json_first(cluster); c; c = json_next(c)) {
		long long x = json_int(c, 0);

		if (x < 1 || x > 16)
			bad = true;
		ctas *= x > 0 ? x : 1;
	}
	if (json_type(cluster) == JSON_ARR && ctas != 1 && ctas != k->ctas)
		return err_set(e, "kernel '%s': cluster and num_ctas disagree", name);
	if (bad || k->global_scratch > 1 << 20 || k->global_scratch_align > SET_ALIGN)
		return err_set(e, "kernel '%s': a launch figure is out of range", name);
	return 0;
}

/* ---- plans */

static int find_buffer(const struct plan *p, const char *name)
{
	for (int i = 0; name && i < p->nbuffers; i++)
		if (!strcmp(p->buffers[i].name, name))
			return i;
	return -1;
}

static int parse_buffer(struct plan *p, const struct json *j, struct err *e)
{
	const char *name = json_get_str(j, "name"), *role = json_get_str(j, "role");
	bool bad = false;
	long long bytes = whole(j, "bytes", 0, MAX_BYTES, &bad);

	if (!name || !*name || !role || bad || find_buffer(p, name) >= 0)
		return err_set(e, "a buffer without name, role or size, or two of one name");
	if (!strcmp(role, "scratch") && (p->scratch += bytes) > MAX_SCRATCH)
		return err_set(e, "a plan with more scratch than %lld bytes", MAX_SCRATCH);
	p->buffers[p->nbuffers++] = (struct plan_buffer){ .name = xstrdup(name), .bytes = (size_t)bytes,
							  .scratch = !strcmp(role, "scratch"), .tensor = -1 };
	return 0;
}

/* "ptr" (or null) and "offset" of an argument or a tensor map. */
static int parse_place(const struct plan *p, const struct json *j, struct arg *a, struct err *e)
{
	const struct json *ptr = json_get(j, "ptr");
	bool bad = false;

	if (json_type(ptr) == JSON_NULL) {
		a->buffer = -1;
		return 0;
	}
	a->buffer = find_buffer(p, json_str(ptr));
	if (a->buffer < 0)
		return err_set(e, "an argument points into no buffer");
	a->offset = (uint64_t)whole(j, "offset", 0, (long long)p->buffers[a->buffer].bytes, &bad);
	return bad ? err_set(e, "an argument points outside of '%s'", p->buffers[a->buffer].name) : 0;
}

static int parse_list(const struct json *j, int min, int max, uint64_t limit, uint64_t *out, int *n)
{
	*n = 0;
	if (json_type(j) != JSON_ARR || json_len(j) < min || json_len(j) > max)
		return -1;
	for (const struct json *c = json_first(j); c; c = json_next(c), ++*n)
		if (wide(c, &out[*n]) || out[*n] > limit)
			return -1;
	return 0;
}

/* Bytes of an element, by CUtensorMapDataType. */
static const unsigned char map_element[] = { 1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4 };

static int parse_map(const struct plan *p, const struct json *j, struct arg *a, struct err *e)
{
	struct gpu_tensormap *m = &a->map;
	const struct json *dtype = json_get(j, "dtype");
	uint64_t box[5], steps[5], room;
	int n, nb, ns, ne;
	bool bad = false;

	if (parse_place(p, j, a, e) || a->buffer < 0)
		return err_set(e, "a tensor map points into no buffer");
	m->type = json_str(dtype) ? gpu_map_type(json_str(dtype)) : (int)json_int(dtype, -1);
	if (m->type < 0 || m->type >= (int)sizeof(map_element) ||
	    parse_list(json_get(j, "dims"), 1, 5, 1ULL << 32, m->dims, &n) ||
	    parse_list(json_get(j, "strides_bytes"), n - 1, n - 1 ? n - 1 : 1, 1ULL << 40, m->strides, &ns) ||
	    parse_list(json_get(j, "box"), n, n, 256, box, &nb) ||
	    parse_list(json_get(j, "element_strides"), n, n, 8, steps, &ne))
		return err_set(e, "a tensor map with a wrong type, dims, strides_bytes, box or element_strides");
	m->rank = n;
	room = (uint64_t)p->buffers[a->buffer].bytes - a->offset;
	if (room < map_element[m->type])
		return err_set(e, "a tensor map reaches outside of '%s'", p->buffers[a->buffer].name);
	room -= map_element[m->type];
	for (int i = 0; i < n; i++) {
		uint64_t stride = i ? m->strides[i - 1] : map_element[m->type];

		m->box[i] = (uint32_t)box[i];
		m->element_strides[i] = (uint32_t)steps[i];
		if (m->dims[i] == 0)
			return err_set(e, "a tensor map with an empty dimension");
		if (stride && m->dims[i] - 1 > room / stride)
			return err_set(e, "a tensor map reaches outside of '%s'", p->buffers[a->buffer].name);
		room -= (m->dims[i] - 1) * stride;
	}
	m->interleave = (int)whole(j, "interleave", 0, 2, &bad);
	m->swizzle = (int)whole(j, "swizzle", 0, 7, &bad);
	m->l2promo = (int)whole(j, "l2promo", 0, 3, &bad);
	m->oob = (int)whole(j, "oob", 0, 1, &bad);
	a->kind = ARG_TENSORMAP;
	a->size = 128;
	return bad ? err_set(e, "a tensor map with a wrong mode") : 0;
}

static int parse_scalar(const char *type, const struct json *j, struct arg *a, struct err *e)
{
	static const struct { const char *name; size_t size; char kind; } types[] = {
		{ "i1", 1, 'i' }, { "i8", 1, 'i' }, { "i16", 2, 'i' }, { "i32", 4, 'i' }, { "i64", 8, 'i' },
		{ "u1", 1, 'i' }, { "u8", 1, 'i' }, { "u16", 2, 'i' }, { "u32", 4, 'i' }, { "u64", 8, 'i' },
		{ "f16", 2, 'h' }, { "fp16", 2, 'h' }, { "bf16", 2, 'b' }, { "f32", 4, 'f' }, { "fp32", 4, 'f' },
		{ "f64", 8, 'd' }, { "fp64", 8, 'd' },
	};
	size_t i;
	uint64_t u = 0;
	double x = 0;

	for (i = 0; i < sizeof(types) / sizeof(*types) && strcmp(types[i].name, type); i++)
		;
	if (i == sizeof(types) / sizeof(*types))
		return err_set(e, "an argument of unknown type '%s'", type);
	if (types[i].kind == 'i' ? wide(j, &u) : real(j, &x))
		return err_set(e, "an argument of type '%s' with a wrong value", type);
	a->kind = ARG_SCALAR;
	a->size = types[i].size;
	if (types[i].kind == 'f') {
		float f = (float)x;

		memcpy(a->value, &f, sizeof(f));
		return 0;
	}
	if (types[i].kind == 'h')
		u = f16_put(x).code;
	else if (types[i].kind == 'b')
		u = bf16_put(x).code;
	else if (types[i].kind == 'd')
		memcpy(&u, &x, sizeof(u));
	memcpy(a->value, &u, sizeof(u));	/* little-endian: the low bytes come first */
	return 0;
}

/* {"ptr":"gu","offset":0} | {"i32":5} | {"tensormap":{..}} */
static int parse_arg(const struct plan *p, const struct json *j, struct arg *a, struct err *e)
{
	const struct json *first = json_first(j);

	if (json_type(j) != JSON_OBJ || !first)
		return err_set(e, "an argument that is no object");
	if (json_get(j, "ptr")) {
		a->kind = ARG_POINTER;
		a->size = 8;
		return parse_place(p, j, a, e);
	}
	if (json_get(j, "tensormap"))
		return parse_map(p, json_get(j, "tensormap"), a, e);
	return parse_scalar(json_key(first), first, a, e);
}

static int parse_variant(const struct bundle *b, const struct plan *p, const struct json *j, struct variant *v,
			 struct err *e)
{
	const struct json *grid = json_get(j, "grid"), *args = json_get(j, "args");
	static const uint64_t limit[3] = { 0x7fffffff, 65535, 65535 };
	uint64_t g[3];
	bool bad = false;
	int n;

	v->kernel = (int)whole(j, "kernel", 0, b->nkernels - 1, &bad);
	if (bad || parse_list(grid, 3, 3, limit[0], g, &n))
		return err_set(e, "a launch without kernel or grid");
	g[0] *= b->kernels[v->kernel].ctas;
	for (int i = 0; i < 3; i++) {
		if (g[i] < 1 || g[i] > limit[i])
			return err_set(e, "a launch of '%s' with a grid out of range", b->kernels[v->kernel].name);
		v->grid[i] = (unsigned)(i ? g[i] : g[0] / b->kernels[v->kernel].ctas);
	}
	if (json_get_str(j, "config"))
		v->config = xstrdup(json_get_str(j, "config"));
	if (json_type(args) != JSON_ARR || json_len(args) > BUNDLE_PARAMS - 2)
		return err_set(e, "a launch without arguments, or with too many");
	v->args = xcalloc((size_t)json_len(args) + 1, sizeof(*v->args));
	for (const struct json *c = json_first(args); c; c = json_next(c))
		if (parse_arg(p, c, &v->args[v->nargs++], e))
			return -1;
	return 0;
}

static int parse_fill(const struct plan *p, const struct json *j, struct step *s, struct err *e)
{
	bool bad = false;
	long long room;

	s->buffer = find_buffer(p, json_get_str(j, "buffer"));
	if (s->buffer < 0)
		return err_set(e, "a fill of no buffer");
	if (!p->buffers[s->buffer].scratch)
		return err_set(e, "a fill of '%s', which is no scratch", p->buffers[s->buffer].name);
	room = (long long)p->buffers[s->buffer].bytes;
	s->offset = (uint64_t)whole(j, "offset", 0, room, &bad);
	s->bytes = (uint64_t)whole(j, "bytes", 0, room - (bad ? 0 : (long long)s->offset), &bad);
	s->value = (unsigned char)whole(j, "value", 0, 255, &bad);
	return bad ? err_set(e, "a fill outside of '%s'", p->buffers[s->buffer].name) : 0;
}

static int parse_step(const struct bundle *b, struct plan *p, const struct json *j, struct err *e)
{
	const char *op = json_get_str(j, "op");
	const struct json *variants = json_get(j, "variants");
	struct step *s = &p->steps[p->nsteps++];

	if (op && !strcmp(op, "fill"))
		return parse_fill(p, j, s, e);
	if (!op || strcmp(op, "launch") || json_type(variants) != JSON_ARR || json_len(variants) < 1 ||
	    json_len(variants) > MAX_VARIANTS)
		return err_set(e, "a step that is neither fill nor launch");
	p->launches++;
	s->variants = xcalloc((size_t)json_len(variants), sizeof(*s->variants));
	for (const struct json *c = json_first(variants); c; c = json_next(c))
		if (parse_variant(b, p, c, &s->variants[s->nvariants++], e))
			return -1;
	return 0;
}

static int parse_plan(const struct bundle *b, const struct json *j, struct plan *p, struct err *e)
{
	const struct json *buffers = json_get(j, "buffers"), *steps = json_get(j, "steps");
	const char *workload = json_get_str(j, "workload");

	if (!workload || json_type(buffers) != JSON_ARR || json_len(buffers) > MAX_BUFFERS ||
	    json_type(steps) != JSON_ARR || json_len(steps) > MAX_STEPS)
		return err_set(e, "a plan without workload, buffers or steps, or with too many");
	p->workload = xstrdup(workload);
	p->buffers = xcalloc((size_t)json_len(buffers) + 1, sizeof(*p->buffers));
	p->steps = xcalloc((size_t)json_len(steps) + 1, sizeof(*p->steps));
	for (const struct json *c = json_first(buffers); c; c = json_next(c))
		if (parse_buffer(p, c, e))
			return -1;
	for (const struct json *c = json_first(steps); c; c = json_next(c))
		if (parse_step(b, p, c, e))
			return -1;
	return p->launches ? 0 : err_set(e, "the plan of '%s' launches nothing", workload);
}

/* ---- the whole */

static int copy_hash(const struct json *j, const char *key, char out[HASH_HEX])
{
	const char *s = json_get_str(j, key);

	if (!s || strlen(s) != HASH_HEX - 1 || strspn(s, "0123456789abcdef") != HASH_HEX - 1)
		return -1;
	memcpy(out, s, HASH_HEX);
	return 0;
}

static int parse_head(struct bundle *b, const struct json *j, struct err *e)
{
	const char *task = json_get_str(j, "task"), *target = json_get_str(j, "target"),
		   *source = json_get_str(j, "source");
	char sha[HASH_HEX];

	if (json_get_int(j, "version", 0) != 1)
		return err_set(e, "not a bundle of version 1");
	if (!task || !target || !source || copy_hash(j, "source_sha256", b->source_sha256) ||
	    copy_hash(j, "task_hash", b->task_hash) || copy_hash(j, "workloads_hash", b->workloads_hash))
		return err_set(e, "the bundle lacks task, target, source or a hash");
	hash_hex(source, strlen(source), sha);
	if (strcmp(sha, b->source_sha256))
		return err_set(e, "the bundle's source does not have the hash it claims");
	b->task = xstrdup(task);
	b->target = xstrdup(target);
	b->source = xstrdup(source);
	return 0;
}

static int parse_tree(struct bundle *b, const struct json *j, struct err *e)
{
	const struct json *kernels = json_get(j, "kernels"), *plans = json_get(j, "plans");

	if (parse_head(b, j, e))
		return -1;
	if (json_type(kernels) != JSON_ARR || json_len(kernels) > MAX_KERNELS || json_type(plans) != JSON_ARR ||
	    json_len(plans) > MAX_PLANS)
		return err_set(e, "the bundle lacks kernels or plans, or has too many");
	b->kernels = xcalloc((size_t)json_len(kernels) + 1, sizeof(*b->kernels));
	b->plans = xcalloc((size_t)json_len(plans) + 1, sizeof(*b->plans));
	for (const struct json *c = json_first(kernels); c; c = json_next(c))
		if (parse_kernel(&b->kernels[b->nkernels++], c, e))
			return -1;
	for (const struct json *c = json_first(plans); c; c = json_next(c))
		if (parse_plan(b, c, &b->plans[b->nplans++], e))
			return -1;
	return 0;
}

int bundle_parse(struct bundle *b, const char *text, size_t n, struct err *e)
{
	struct json *j;
	int rc;

	*b = (struct bundle){ 0 };
	hash_hex(text, n, b->hash);
	if (scan_value(text, n, e))
		return -1;
	j = json_parse(text, n, e);
	if (!j)
		return -1;
	rc = parse_tree(b, j, e);
	json_free(j);
	return rc;
}

static void plan_release(struct plan *p)
{
	for (int i = 0; i < p->nbuffers; i++)
		free(p->buffers[i].name);
	for (int i = 0; i < p->nsteps; i++) {
		for (int v = 0; v < p->steps[i].nvariants; v++) {
			free(p->steps[i].variants[v].args);
			free(p->steps[i].variants[v].config);
		}
		free(p->steps[i].variants);
	}
	free(p->buffers);
	free(p->steps);
	free(p->workload);
}

void bundle_release(struct bundle *b)
{
	for (int i = 0; i < b->nkernels; i++) {
		free(b->kernels[i].name);
		free(b->kernels[i].cubin);
	}
	for (int i = 0; i < b->nplans; i++)
		plan_release(&b->plans[i]);
	free(b->kernels);
	free(b->plans);
	free(b->task);
	free(b->target);
	free(b->source);
	*b = (struct bundle){ 0 };
}

struct plan *bundle_plan(const struct bundle *b, const char *workload)
{
	for (int i = 0; i < b->nplans; i++)
		if (!strcmp(b->plans[i].workload, workload))
			return &b->plans[i];
	return NULL;
}

int bundle_fits(struct plan *p, const struct task *t, const size_t *bytes, struct err *e)
{
	int found = 0;

	for (int i = 0; i < p->nbuffers; i++) {
		struct plan_buffer *b = &p->buffers[i];

		b->tensor = -1;
		for (int k = 0; k < t->ntensors && !b->scratch; k++)
			if (!strcmp(t->tensors[k].name, b->name))
				b->tensor = k;
		if (b->scratch)
			continue;
		if (b->tensor < 0)
			return err_set(e, "the plan has a buffer '%s' that is no tensor of the task", b->name);
		if (b->bytes != bytes[b->tensor])
			return err_set(e, "the plan's '%s' has %zu bytes, the task's %zu", b->name, b->bytes,
				       bytes[b->tensor]);
		found++;
	}
	return found == t->ntensors ? 0 : err_set(e, "the plan has %d of the task's %d tensors", found, t->ntensors);
}

int bundle_serves(const struct bundle *b, const struct task *t, const struct workload *w, struct err *e)
{
	struct plan *p = bundle_plan(b, w->id);
	size_t *bytes = xcalloc((size_t)t->ntensors + 1, sizeof(*bytes));
	int failed = p ? 0 : err_set(e, "there is no plan for workload '%s'", w->id);

	for (int i = 0; i < t->ntensors && !failed; i++) {
		long long shape[TASK_DIMS], n = 0;

		failed = tensor_elements(&t->tensors[i], w, shape, &n, e);
		bytes[i] = (size_t)n * dtype_size[t->tensors[i].dtype];
	}
	if (!failed)
		failed = bundle_fits(p, t, bytes, e);
	free(bytes);
	return failed;
}

int bundle_remembers(const struct bundle *b, struct err *e)
{
	struct err why;
	int rc = 0;

	for (int i = 0; i < b->nkernels && !rc; i++) {
		rc = cubin_remembers(b->kernels[i].cubin, b->kernels[i].cubin_bytes, &why);
		if (rc)
			err_set(e, "kernel '%.100s': %s", b->kernels[i].name, why.text);
	}
	return rc;
}
