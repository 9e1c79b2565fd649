/* Laps. */
#include "walk.h"
#include "clock.h"
#include <math.h>

#define WARM_SECONDS 0.5	/* at most */
#define WINDOW_NS 5e6		/* warm-up looks at windows of at least this length */

static int record(const struct walk *w, struct replay *lead, struct replay *r, const struct lap *l, struct err *e)
{
	for (int c = 0; c < w->lead + w->calls; c++)
		if ((c == w->lead && gpu_event_record(w->gpu, l->from, e)) ||
		    replay_call(c < w->lead ? lead : r, w->set[w->order[c]].base, e))
			return -1;
	return gpu_event_record(w->gpu, l->to, e);
}

int walk_record(const struct walk *w, struct replay *lead, struct replay *r, struct lap *l, struct err *e)
{
	*l = (struct lap){ .from = gpu_event(w->gpu, e) };
	l->to = l->from ? gpu_event(w->gpu, e) : NULL;
	if (!l->to || gpu_record_begin(w->gpu, e))
		return -1;
	if (record(w, lead, r, l, e)) {
		gpu_record_drop(w->gpu);
		return -1;
	}
	l->graph = gpu_record_end(w->gpu, e);
	return l->graph ? 0 : -1;
}

void walk_release(const struct walk *w, struct lap *l)
{
	gpu_graph_free(w->gpu, l->graph);
	gpu_event_free(w->gpu, l->from);
	gpu_event_free(w->gpu, l->to);
	*l = (struct lap){ 0 };
}

int walk_wait(const struct walk *w, struct err *e)
{
	int rc = gpu_wait(w->gpu, w->hang, e);

	if (rc > 0)
		err_set(e, "it had not ended after %g s", w->hang);
	return rc;
}

/* n laps one after the other; ns per call of the last. */
static int run(const struct walk *w, const struct lap *l, int n, double *ns, struct err *e)
{
	int rc;

	for (int i = 0; i < n; i++)
		if (gpu_graph_run(w->gpu, l->graph, e))
			return -1;
	rc = walk_wait(w, e);
	if (rc)
		return rc;
	if (gpu_event_ns(w->gpu, l->from, l->to, ns, e))
		return -1;
	*ns /= w->calls;
	return 0;
}

int walk_run(const struct walk *w, const struct lap *l, double *ns, struct err *e)
{
	return run(w, l, 1, ns, e);
}

/* Three windows in a row within 0.5 % of each other end it. */
int walk_warm(const struct walk *w, const struct lap *l, struct warmth *how, struct err *e)
{
	double start = clock_now(), one, window[3] = { 0, 0, 0 };
	bool stable = false;
	int repeat, rc = walk_run(w, l, &one, e);

	if (!rc)
		rc = walk_run(w, l, &one, e);
	if (rc)
		return rc;
	one *= w->lead + w->calls;
	repeat = one < WINDOW_NS ? (int)(WINDOW_NS / one) + 1 : 1;
	for (int n = 0; clock_now() < start + WARM_SECONDS && !stable; n++) {
		double lo, hi;

		rc = run(w, l, repeat, &window[n % 3], e);
		if (rc)
			return rc;
		lo = fmin(fmin(window[0], window[1]), window[2]);
		hi = fmax(fmax(window[0], window[1]), window[2]);
		stable = n >= 2 && hi < 1.005 * lo;
	}
	if (how)
		*how = (struct warmth){ clock_now() - start, stable };
	return 0;
}
