/* Choosing among the variants of autotuned steps, by the time of the whole plan. */
#include "walk.h"
#include "emit.h"
#include <math.h>
#include <string.h>

/* Outside of a graph first: a launch that is refused must not cost the recording. 1: refused. */
static int can_launch(const struct walk *w, struct replay *r, struct err *e)
{
	struct err why;

	if (replay_call(r, w->set[w->order[0]].base, &why))
		return gpu_fault(w->gpu) ? err_set(e, "%s", why.text) : 1;
	return gpu_sync(w->gpu, e);
}

/* The fastest of four laps, of one or two when it is hopeless; NaN when the variant cannot be launched. */
static int try_variant(const struct walk *w, struct replay *r, double best, double *ns, struct err *e)
{
	struct lap lap;
	double t;
	int rc = can_launch(w, r, e);

	*ns = NAN;
	if (rc)
		return rc < 0 ? -1 : 0;
	rc = walk_record(w, r, r, &lap, e);
	for (int i = 0; i < 4 && !rc && !(i && *ns > (i == 1 ? 1.5 : 1.1) * best); i++) {
		rc = walk_run(w, &lap, &t, e);
		if (!rc && !(t >= *ns))
			*ns = t;
	}
	walk_release(w, &lap);
	return rc ? -1 : 0;
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

/* Measures every variant of step s and of the steps like it, and leaves the fastest chosen. */
static int choose_step(const struct walk *w, struct replay *r, int s, struct buf *out, struct err *e)
{
	const struct step *step = &r->plan->steps[s];
	double best = INFINITY, ns;
	int chosen = -1;

	emit_open(out, '{');
	emit_steps(out, r->plan, s);
	emit_key(out, "ns");
	emit_open(out, '[');
	for (int v = 0; v < step->nvariants; v++) {
		choose_alike(r, s, v);
		if (try_variant(w, r, best, &ns, e))
			return -1;
		emit_num(out, isnan(ns) ? ns : rint(ns));
		if (ns < best) {
			best = ns;
			chosen = v;
		}
	}
	emit_close(out, ']');
	if (chosen < 0)
		return err_set(e, "no configuration of %s can be launched", replay_step_name(r, s));
	choose_alike(r, s, chosen);
	emit_kint(out, "chosen", chosen);
	emit_kstr(out, "config", step->variants[chosen].config);
	emit_close(out, '}');
	return 0;
}

/* Runs the plan as it is until the clock has settled, else the first variants would be measured on a cooler device. */
static int warm_up(const struct walk *w, struct replay *r, struct err *e)
{
	struct lap lap;
	int rc = can_launch(w, r, e);

	if (rc)
		return rc < 0 ? -1 : 0;	/* another variant may do */
	rc = walk_record(w, r, r, &lap, e) || walk_warm(w, &lap, e);
	walk_release(w, &lap);
	return rc ? -1 : 0;
}

int walk_choose(const struct walk *w, struct replay *r, struct buf *out, struct err *e)
{
	if (warm_up(w, r, e))
		return -1;
	for (int s = 0; s < r->plan->nsteps; s++)
		if (r->plan->steps[s].nvariants > 1 && first_alike(r->plan, s) == s && choose_step(w, r, s, out, e))
			return -1;
	return 0;
}
