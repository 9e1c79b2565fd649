/* Choosing among the variants of autotuned steps, by the time of the whole plan. */
#include "walk.h"
#include "emit.h"
#include "stats.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FINAL = 8, FINAL_LAPS = 7 };
#define NEAR 1.03

/* Outside of a graph first: a launch that is refused must not cost the recording. */
static int launch_once(const struct walk *w, struct replay *r, bool *refused, struct err *e)
{
	int rc = replay_call(r, w->set[w->order[0]].base, e);

	*refused = rc && gpu_blames_code(w->gpu) && !gpu_fault(w->gpu);
	return *refused ? 0 : rc ? -1 : walk_wait(w, e);
}

/* Not of a lap that has not ended. */
static void release(const struct walk *w, struct lap *lap, int rc)
{
	if (rc <= 0)
		walk_release(w, lap);
}

/* The fastest of four laps, of one or two when it is hopeless; NaN when the variant cannot be launched. */
static int try_variant(const struct walk *w, struct replay *r, double best, double *ns, struct err *e)
{
	struct lap lap;
	double t;
	bool refused;
	int rc = launch_once(w, r, &refused, e);

	*ns = NAN;
	if (rc || refused)
		return rc;
	rc = walk_record(w, r, r, &lap, e);
	for (int i = 0; i < 4 && !rc && !(i && *ns > (i == 1 ? 1.5 : 1.1) * best); i++) {
		rc = walk_run(w, &lap, &t, e);
		if (!rc && !(t >= *ns))
			*ns = t;
	}
	release(w, &lap, rc);
	return rc;
}

/* Steps with the same kernels, grids and configurations: Triton's autotuner would choose once for all of them. */
static bool steps_alike(const struct step *a, const struct step *b)
{
	if (a->nvariants != b->nvariants)
		return false;
	for (int v = 0; v < a->nvariants; v++)
		if (a->variants[v].kernel != b->variants[v].kernel || memcmp(a->variants[v].grid, b->variants[v].grid,
									    sizeof(a->variants[v].grid)))
			return false;
	return true;
}

static int first_alike(const struct plan *p, int s)
{
	for (int i = 0; i < s; i++)
		if (steps_alike(&p->steps[i], &p->steps[s]))
			return i;
	return s;
}

static void choose_alike(struct replay *r, int s, int v)
{
	for (int i = s; i < r->plan->nsteps; i++)
		if (steps_alike(&r->plan->steps[i], &r->plan->steps[s]))
			r->chosen[i] = v;
}

static void emit_steps(struct buf *out, const struct plan *p, int s)
{
	emit_key(out, "steps");
	emit_open(out, '[');
	for (int i = s; i < p->nsteps; i++)
		if (steps_alike(&p->steps[i], &p->steps[s]))
			emit_int(out, i);
	emit_close(out, ']');
}

/* ns[v] of each variant of step s and of the steps like it; NaN where it cannot be launched. */
static int try_all(const struct walk *w, struct replay *r, int s, double *ns, struct err *e)
{
	double best = INFINITY;
	int rc = 0;

	for (int v = 0; v < r->plan->steps[s].nvariants && !rc; v++) {
		choose_alike(r, s, v);
		rc = try_variant(w, r, best, &ns[v], e);
		best = fmin(best, ns[v]);
	}
	return rc;
}

/* Median of laps that are run in turns. */
static int decide(const struct walk *w, const struct lap *laps, int n, double *ns, struct err *e)
{
	double run[FINAL][FINAL_LAPS];
	int rc = 0;

	for (int i = 0; i < FINAL_LAPS && !rc; i++)
		for (int k = 0; k < n && !rc; k++)
			rc = walk_run(w, &laps[k], &run[k][i], e);
	for (int k = 0; k < n && !rc; k++)
		ns[k] = stats_median(run[k], FINAL_LAPS);
	return rc;
}

/* Those nearly as fast as the fastest once more, side by side. */
static int try_near(const struct walk *w, struct replay *r, int s, double *ns, struct err *e)
{
	int variant[FINAL], n = 0, rc = 0, laps = 0, count = r->plan->steps[s].nvariants;
	double best = INFINITY, again[FINAL];
	struct lap lap[FINAL];

	for (int v = 0; v < count; v++)
		best = fmin(best, ns[v]);
	for (int v = 0; v < count && n < FINAL; v++)
		if (ns[v] <= NEAR * best)
			variant[n++] = v;
	if (n < 2)
		return 0;
	for (; laps < n && !rc; laps++) {
		choose_alike(r, s, variant[laps]);
		rc = walk_record(w, r, r, &lap[laps], e);
	}
	if (!rc)
		rc = decide(w, lap, n, again, e);
	for (int k = 0; k < laps; k++)
		release(w, &lap[k], rc);
	for (int k = 0; k < n && !rc; k++)
		ns[variant[k]] = again[k];
	return rc;
}

static int emit_choice(const struct replay *r, int s, const double *ns, struct buf *out)
{
	const struct step *step = &r->plan->steps[s];
	int chosen = -1;

	emit_open(out, '{');
	emit_steps(out, r->plan, s);
	emit_key(out, "ns");
	emit_open(out, '[');
	for (int v = 0; v < step->nvariants; v++) {
		emit_num(out, isnan(ns[v]) ? ns[v] : rint(ns[v]));
		if (ns[v] > 0 && (chosen < 0 || ns[v] < ns[chosen]))
			chosen = v;
	}
	emit_close(out, ']');
	emit_kint(out, "chosen", chosen);
	emit_kstr(out, "config", chosen < 0 ? NULL : step->variants[chosen].config);
	emit_close(out, '}');
	return chosen;
}

/* Leaves the fastest variant of step s and of the steps like it chosen. */
static int choose_step(const struct walk *w, struct replay *r, int s, struct buf *out, struct err *e)
{
	double *ns = xcalloc((size_t)r->plan->steps[s].nvariants, sizeof(*ns));
	int chosen = -1, rc = try_all(w, r, s, ns, e);

	if (!rc)
		rc = try_near(w, r, s, ns, e);
	if (!rc)
		chosen = emit_choice(r, s, ns, out);
	free(ns);
	if (rc)
		return rc;
	if (chosen < 0)
		return err_set(e, "no configuration of %s can be launched", replay_step_name(r, s));
	choose_alike(r, s, chosen);
	return 0;
}

/* Runs the plan as it is until the clock has settled, else the first variants would be measured on a cooler device. */
static int warm_up(const struct walk *w, struct replay *r, struct err *e)
{
	struct lap lap;
	bool refused;
	int rc = launch_once(w, r, &refused, e);

	if (rc || refused)
		return rc;	/* another variant may do */
	rc = walk_record(w, r, r, &lap, e);
	if (!rc)
		rc = walk_warm(w, &lap, NULL, e);
	release(w, &lap, rc);
	return rc;
}

int walk_choose(const struct walk *w, struct replay *r, struct buf *out, struct err *e)
{
	int rc = warm_up(w, r, e);

	for (int s = 0; s < r->plan->nsteps && !rc; s++)
		if (r->plan->steps[s].nvariants > 1 && first_alike(r->plan, s) == s)
			rc = choose_step(w, r, s, out, e);
	return rc;
}
