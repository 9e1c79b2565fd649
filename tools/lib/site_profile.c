/* What is known of the candidate's kernels on this device: code, occupancy, times of the plan's beginnings. */
#include "site_profile.h"
#include "clock.h"
#include "stats.h"
#include <math.h>
#include <stdlib.h>

enum {
	STEPS_MAX = 128,	/* a plan of more is not timed step by step: it takes the square of their number */
	RUNS = 5,
};
#define SECONDS 10.0		/* for all beginnings of a plan */
#define DISASSEMBLE_SECONDS 30.0

static void fit(struct site *s, struct profile *p)
{
	const struct replay *r = &s->replay[LEG_CANDIDATE];
	struct occupancy_device d;
	struct gpu_multiprocessor m;

	gpu_multiprocessor(s->rig->gpu, &m);
	d = (struct occupancy_device){ s->rig->info.sm_count, m.registers, m.threads / 32, m.blocks, m.shared,
				       m.reserved };
	for (int i = 0; i < p->nkernels; i++) {
		struct profile_kernel *x = &p->kernels[i];
		const struct kernel *k = &p->bundle->kernels[x->kernel];
		const struct gpu_launch l = { .func = r->func[x->kernel], .grid = { x->grid[0], x->grid[1], x->grid[2] },
					      .block = 32 * k->warps, .shared = k->shared, .cluster = k->ctas,
					      .cooperative = k->cooperative };
		struct gpu_code c;

		gpu_code(s->rig->gpu, &l, &c);
		x->registers = c.registers;
		x->local = c.local;
		x->shared = c.shared;
		x->fits = m.registers && m.threads && m.blocks && m.shared && c.registers >= 0 && c.shared >= 0;
		if (x->fits) {
			const struct occupancy_use u = { c.registers, (int)k->shared + c.shared, (int)l.block, (int)k->ctas };
			const struct occupancy_held held = { c.blocks, c.clusters };

			x->occupancy = occupancy_of(&d, &u, &held, (double)x->grid[0] * x->grid[1] * x->grid[2]);
		}
	}
}

/* Median ns per call of the plan's first n steps; `warm`: until the clock has settled. */
static int time_beginning(struct site *s, int n, bool warm, double *ns, struct err *e)
{
	struct replay part = s->replay[LEG_CANDIDATE];
	struct plan plan = *part.plan;
	struct lap lap = { 0 };
	double run[RUNS];
	int rc;

	plan.nsteps = n;
	part.plan = &plan;
	rc = pool_spoil(&s->pool, &s->rig->rng, e) || walk_record(&s->walk, &part, &part, &lap, e) ||
	     (warm && walk_warm(&s->walk, &lap, NULL, e)) || walk_run(&s->walk, &lap, ns, e);
	for (int i = 0; i < RUNS && !rc; i++)
		rc = walk_run(&s->walk, &lap, &run[i], e);
	if (!site_lost(s))
		walk_release(&s->walk, &lap);
	*ns = rc ? NAN : stats_median(run, RUNS);
	return rc ? -1 : 0;
}

static int time_steps(struct site *s, struct profile *p, struct err *e)
{
	int n = p->plan->nsteps;
	double *ns = xcalloc((size_t)n + 1, sizeof(*ns)), end = clock_now() + SECONDS;
	int rc = n > STEPS_MAX ? err_set(e, "the plan has %d steps, more than %d", n, STEPS_MAX) : 0;

	if (!rc)
		rc = site_fill(s, e);
	for (int k = n; k > 0 && !rc; k--)
		rc = clock_now() > end ? err_set(e, "timing %d beginnings of the plan took too long", n)
				       : time_beginning(s, k, k == n, &ns[k - 1], e);
	if (!rc)
		profile_times(p, ns);
	free(ns);
	return rc;
}

/* A first launch of each kernel happens outside of a graph. */
static int prepare(struct site *s, const int *chosen, struct err *e)
{
	struct replay *r = &s->replay[LEG_CANDIDATE];

	for (int i = 0; i < r->plan->nsteps; i++)
		r->chosen[i] = chosen[i];
	return site_fill(s, e) || replay_call(r, s->pool.set[s->order[0]].base, e) || gpu_sync(s->rig->gpu, e) ? -1 : 0;
}

void site_profile(struct site *s, const int *chosen, double call_ns, struct profile *p)
{
	const struct replay *r = &s->replay[LEG_CANDIDATE];
	const struct peaks *peaks = &s->rig->peaks;

	profile_open(p, r->bundle, r->plan, chosen);
	p->call_ns = call_ns;
	p->bytes = s->in.least_bytes;
	p->flops = s->in.least_flops;
	p->flop_unit = s->in.task->flop_unit;
	p->bytes_peak = peaks_rate(peaks, PEAK_BANDWIDTH);
	p->flops_peak = 1e9 / peaks_floor_ns(peaks, NAN, 1, p->flop_unit);
	if (prepare(s, chosen, &p->no_times))
		return;
	fit(s, p);
	time_steps(s, p, &p->no_times);
	profile_disassemble(p, DISASSEMBLE_SECONDS);
}
