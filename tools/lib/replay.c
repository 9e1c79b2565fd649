/* Launching recorded plans. */
#include "replay.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SLOT_BYTES = 128 };
#define SPARE_MAX 1e15		/* bytes; more than any device has */

/* Arguments of one launch. A kernel that declares more or larger parameters than the plan gives (a hostile cubin, on a
 * driver too old to tell) finds zeros here, not the rest of our memory. */
struct arguments {
	_Alignas(64) unsigned char value[BUNDLE_PARAMS][SLOT_BYTES];
	unsigned char tail[4096];
	void *pointer[4096];
};

/* Bytes of global scratch that a step's launch needs, whichever variant it is. */
static size_t spare_bytes(const struct bundle *b, const struct step *s)
{
	double need = 0;

	for (int i = 0; i < s->nvariants; i++) {
		const struct variant *v = &s->variants[i];
		const struct kernel *k = &b->kernels[v->kernel];

		need = fmax(need, (double)k->global_scratch * k->ctas * v->grid[0] * v->grid[1] * v->grid[2]);
	}
	return (size_t)fmin(need, SPARE_MAX);
}

size_t replay_scratch_bytes(const struct bundle *b, const struct plan *p)
{
	struct slot slot;
	size_t end = 0;

	for (int i = 0; i < p->nbuffers; i++)
		if (p->buffers[i].scratch)
			end = slot_pack(&slot, &p->buffers[i].bytes, 1, end);
	for (int s = 0; s < p->nsteps; s++) {
		size_t bytes = spare_bytes(b, &p->steps[s]);

		if (bytes)
			end = slot_pack(&slot, &bytes, 1, end);
	}
	return end;
}

/* The next piece of scratch lies at *end, which moves on. */
static struct slot add_scratch(struct scratch *scratch, char *name, size_t bytes, size_t *end)
{
	struct slot *slot = &scratch->slot[scratch->n];

	scratch->name[scratch->n++] = name;
	*end = slot_pack(slot, &bytes, 1, *end);
	return *slot;
}

/* In the order of replay_scratch_bytes. */
static void place(struct replay *r, const struct layout *l)
{
	const struct plan *p = r->plan;
	size_t end = l->scratch;

	for (int i = 0; i < p->nbuffers; i++) {
		const struct plan_buffer *b = &p->buffers[i];

		r->slot[i] = b->scratch ? add_scratch(&r->scratch, b->name, b->bytes, &end) : l->tensor[b->tensor];
	}
	for (int s = 0; s < p->nsteps; s++) {
		const struct step *step = &p->steps[s];
		size_t bytes = spare_bytes(r->bundle, step);

		if (bytes)
			r->spare[s] = add_scratch(&r->scratch, r->bundle->kernels[step->variants[0].kernel].name, bytes,
						  &end).offset;
	}
}

static int load_kernel(struct replay *r, int k, struct err *e)
{
	const struct kernel *kernel = &r->bundle->kernels[k];
	struct err why;

	if (r->func[k])
		return 0;
	r->module[k] = gpu_module(r->gpu, kernel->cubin, &why);
	if (!r->module[k])
		return err_set(e, "kernel %s: %s", kernel->name, why.text);
	r->func[k] = gpu_function(r->gpu, r->module[k], kernel->name, &why);
	if (!r->func[k] || gpu_function_allow(r->gpu, r->func[k], kernel->shared, kernel->ctas, &why))
		return err_set(e, "kernel %s: %s", kernel->name, why.text);
	return 0;
}

/* Number and sizes of the kernel's parameters against the plan's arguments and the two scratch pointers. */
static int check_params(const struct replay *r, const struct variant *v, struct err *e)
{
	const char *name = r->bundle->kernels[v->kernel].name;
	size_t size[BUNDLE_PARAMS];
	int n, rc = gpu_function_params(r->gpu, r->func[v->kernel], size, BUNDLE_PARAMS, &n, e);

	if (rc)
		return rc < 0 ? -1 : 0;
	if (n != v->nargs + 2)
		return err_set(e, "kernel %s takes %d parameters, the plan gives %d and two for scratch", name, n,
			       v->nargs);
	for (int i = 0; i < n; i++)
		if (size[i] != (i < v->nargs ? v->args[i].size : 8))
			return err_set(e, "kernel %s: parameter %d has %zu bytes, the plan gives %zu", name, i, size[i],
				       i < v->nargs ? v->args[i].size : 8);
	return 0;
}

static int open_step(struct replay *r, int s, struct err *e)
{
	const struct step *step = &r->plan->steps[s];

	for (int v = 0; v < step->nvariants; v++)
		if (load_kernel(r, step->variants[v].kernel, e) || check_params(r, &step->variants[v], e))
			return -1;
	return 0;
}

int replay_open(struct replay *r, struct gpu *g, const struct bundle *b, const struct plan *p, const struct layout *l,
		struct err *e)
{
	size_t scratch = (size_t)p->nbuffers + (size_t)p->nsteps + 1;	/* at most */

	*r = (struct replay){ .gpu = g, .bundle = b, .plan = p };
	r->module = xcalloc((size_t)b->nkernels + 1, sizeof(*r->module));
	r->func = xcalloc((size_t)b->nkernels + 1, sizeof(*r->func));
	r->chosen = xcalloc((size_t)p->nsteps + 1, sizeof(*r->chosen));
	r->spare = xcalloc((size_t)p->nsteps + 1, sizeof(*r->spare));
	r->slot = xcalloc((size_t)p->nbuffers + 1, sizeof(*r->slot));
	r->scratch.slot = xcalloc(scratch, sizeof(*r->scratch.slot));
	r->scratch.name = xcalloc(scratch, sizeof(*r->scratch.name));
	place(r, l);
	for (int s = 0; s < p->nsteps; s++)
		if (open_step(r, s, e))
			return -1;
	return 0;
}

void replay_unload(struct replay *r)
{
	for (int k = 0; r->module && k < r->bundle->nkernels; k++) {
		gpu_module_free(r->gpu, r->module[k]);
		r->module[k] = r->func[k] = NULL;
	}
}

void replay_release(struct replay *r)
{
	replay_unload(r);
	free(r->module);
	free(r->func);
	free(r->chosen);
	free(r->spare);
	free(r->slot);
	free(r->scratch.slot);
	free(r->scratch.name);
	*r = (struct replay){ 0 };
}

int replay_reload(struct replay *r, struct err *e)
{
	replay_unload(r);
	for (int s = 0; s < r->plan->nsteps; s++)
		if (r->plan->steps[s].variants && load_kernel(r, r->plan->steps[s].variants[r->chosen[s]].kernel, e))
			return -1;
	return 0;
}

static int launch(struct replay *r, int s, uint64_t set, struct err *e)
{
	const struct variant *v = &r->plan->steps[s].variants[r->chosen[s]];
	const struct kernel *k = &r->bundle->kernels[v->kernel];
	static struct arguments a;
	struct gpu_launch l = { .func = r->func[v->kernel], .grid = { v->grid[0] * k->ctas, v->grid[1], v->grid[2] },
				.block = 32 * k->warps, .shared = k->shared, .cluster = k->ctas,
				.cooperative = k->cooperative,
				/* the first launch of a call must not start before the call before it has ended */
				.pdl = k->pdl && s > 0 && r->plan->steps[s - 1].variants, .params = a.pointer };
	size_t n = sizeof(a.pointer) / sizeof(*a.pointer);
	uint64_t spare = r->spare[s] ? set + r->spare[s] : 0;

	memset(a.value, 0, sizeof(a.value));
	for (size_t i = 0; !a.pointer[n - 1] && i < n; i++)
		a.pointer[i] = i < BUNDLE_PARAMS ? a.value[i] : a.tail;
	for (int i = 0; i < v->nargs; i++) {
		const struct arg *arg = &v->args[i];
		uint64_t p = arg->kind == ARG_SCALAR || arg->buffer < 0 ? 0
			     : set + r->slot[arg->buffer].offset + arg->offset;

		if (arg->kind == ARG_TENSORMAP) {
			if (gpu_tensormap(r->gpu, &arg->map, p, a.value[i], e))
				return -1;
		} else {
			memcpy(a.value[i], arg->kind == ARG_POINTER ? (const void *)&p : arg->value, 8);
		}
	}
	memcpy(a.value[v->nargs], &spare, 8);
	return gpu_launch(r->gpu, &l, e);
}

static int run_step(struct replay *r, int s, uint64_t set, struct err *e)
{
	const struct step *step = &r->plan->steps[s];

	r->step = s;
	if (step->variants)
		return launch(r, s, set, e);
	return gpu_fill(r->gpu, set + r->slot[step->buffer].offset + step->offset, step->value, step->bytes, e);
}

int replay_call(struct replay *r, uint64_t set, struct err *e)
{
	for (int s = 0; s < r->plan->nsteps; s++)
		if (run_step(r, s, set, e))
			return -1;
	return 0;
}

int replay_careful(struct replay *r, uint64_t set, double seconds, struct err *e)
{
	for (int s = 0; s < r->plan->nsteps; s++) {
		int rc = run_step(r, s, set, e);

		if (!rc)
			rc = gpu_wait(r->gpu, seconds, e);
		if (rc)
			return rc;
	}
	return 0;
}

const char *replay_step_name(const struct replay *r, int step)
{
	const struct step *s = &r->plan->steps[step];

	return s->variants ? r->bundle->kernels[s->variants[r->chosen[step]].kernel].name : "fill";
}
