/* Timing of a workload: candidate, baseline and expert in turns, in one placement after another until the ratios are
 * known well enough. */
#include "site.h"
#include "clock.h"
#include "progress.h"
#include <math.h>

enum { PLACEMENTS_MIN = 5 };	/* before time can end it: an interval over fewer says little */
#define FLOOR_SLACK 0.97	/* the device's own peaks wander by some per cent from day to day */
#define EXAM_SHARE 0.1		/* of the time may go into examining runs of more placements than one */

/* ---- a placement */

/* Modules, buffers and their data, the order of sets: all new. Where code comes to lie depends on what was loaded before
 * it, so the legs are loaded in a random order. A first launch happens outside of a graph. */
static int move(struct site *s, const int order[LEGS], struct err *e)
{
	int rc;

	for (int k = 0; k < LEGS; k++)	/* all at first, else each would get its old place back */
		if (s->ready[k])
			replay_unload(&s->replay[k]);
	for (int i = 0; i < LEGS; i++) {
		site_actor(s, order[i]);
		if (s->ready[order[i]] && replay_reload(&s->replay[order[i]], e))
			return -1;
	}
	site_actor(s, ACTOR_TOOL);
	rng_shuffle(&s->rig->rng, s->order, s->nsets);
	if (pool_place(&s->pool, s->nsets, &s->rig->rng, e))
		return -1;
	phases_charge(&s->rig->phases, PHASE_PLACE);
	if (site_fill(s, e) || pool_spoil(&s->pool, &s->rig->rng, e))
		return -1;
	for (int i = 0; i < LEGS; i++) {
		if (!s->ready[order[i]])
			continue;
		site_actor(s, order[i]);
		rc = replay_call(&s->replay[order[i]], s->pool.set[s->order[0]].base, e) ? -1 : walk_wait(&s->walk, e);
		if (rc > 0)
			site_hangs(s, order[i], "right when checked, but a call");
		if (rc)
			return -1;
		site_actor(s, ACTOR_TOOL);
	}
	return 0;
}

/* Until the clock has settled. What leads in runs by itself first: its faults are not to be taken for the candidate's. */
static int warm_up(struct site *s, struct err *e)
{
	struct warmth how = { 0, false };
	double ns;
	int rc = 0;

	site_actor(s, LEG_BASELINE);
	if (s->ready[LEG_BASELINE])
		rc = walk_run(&s->walk, &s->lap[LEG_BASELINE], &ns, e);
	if (!rc) {
		site_actor(s, LEG_CANDIDATE);
		rc = walk_warm(&s->walk, &s->lap[LEG_CANDIDATE], &how, e);
	}
	s->timing.warm_seconds += how.seconds;
	s->timing.warm_stable = s->timing.warm_stable && how.stable;
	if (rc)
		return rc < 0 ? -1 : site_lap_hangs(s, s->actor, e);
	site_actor(s, ACTOR_TOOL);
	return 0;
}

/* The baseline leads in for all. */
static int record(struct site *s, const int order[LEGS], struct err *e)
{
	struct replay *lead = &s->replay[s->ready[LEG_BASELINE] ? LEG_BASELINE : LEG_CANDIDATE];

	for (int i = 0; i < LEGS; i++) {
		int k = order[i];

		s->timing.leg[k] = s->ready[k];
		if (s->ready[k] && walk_record(&s->walk, lead, &s->replay[k], &s->lap[k], e))
			return -1;
	}
	return s->timing.placements ? 0 : warm_up(s, e);
}

static void release_laps(struct site *s)
{
	for (int k = 0; k < LEGS && !site_lost(s); k++)
		walk_release(&s->walk, &s->lap[k]);
}

/* ---- how many calls */

/* Nanoseconds of a call of the faster of the task's own plans, roughly. */
static int own_ns(struct site *s, double *ns, struct err *e)
{
	static const int order[LEGS] = { 0, 1, 2 };
	double one;
	int rc = move(s, order, e) || record(s, order, e);

	*ns = INFINITY;
	for (int k = LEG_BASELINE; k < LEGS && !rc; k++) {
		if (!s->ready[k])
			continue;
		site_actor(s, k);
		rc = walk_run(&s->walk, &s->lap[k], &one, e);
		if (rc > 0)
			site_lap_hangs(s, k, e);
		if (!rc)
			*ns = fmin(*ns, one);
	}
	release_laps(s);
	if (rc)
		return -1;
	site_actor(s, ACTOR_TOOL);
	return 0;
}

/* A block need not last as if calls were as fast as the floor: few candidates are twice as fast as the task's own plans. */
static int settle_calls(struct site *s, struct err *e)
{
	double ns, calls;

	if (s->walk.calls == s->calls_min || !(s->ready[LEG_BASELINE] || s->ready[LEG_EXPERT]))
		return 0;
	if (own_ns(s, &ns, e))
		return -1;
	calls = fmax(ceil(SITE_BLOCK_NS / (0.5 * ns)), s->calls_min);
	if (calls < s->walk.calls)
		s->walk.calls = (int)calls;
	s->nsets = s->walk.lead + s->walk.calls;
	for (int i = 0; i < s->nsets; i++)
		s->order[i] = i;
	phases_charge(&s->rig->phases, PHASE_PLACE);
	return 0;
}

/* ---- until it is known */

static int place(struct site *s, bool witness, struct err *e)
{
	int order[LEGS] = { 0, 1, 2 }, rc;

	rng_shuffle(&s->rig->rng, order, LEGS);
	rc = move(s, order, e) || record(s, order, e);
	phases_charge(&s->rig->phases, PHASE_PLACE);
	rc = rc || site_turns(s, witness, e);
	release_laps(s);
	phases_charge(&s->rig->phases, PHASE_PLACE);
	s->timing.placements++;
	return rc ? -1 : 0;
}

/* The wider of the two intervals; -1 when there is nothing to compare with. */
static double half_width(const struct site *s)
{
	double widest = -1;

	for (int k = LEG_BASELINE; k < LEGS; k++) {
		struct ratio r = timing_ratio(&s->timing, k, LEG_CANDIDATE, job_fresh_seed(s->rig->job));

		widest = fmax(widest, timing_half_width(&r));	/* fmax ignores a NaN */
	}
	return widest;
}

static bool done(struct site *s)
{
	const struct job *job = s->rig->job;
	struct timing *t = &s->timing;

	/* not after every placement: the more often one looks, the sooner an interval is narrow by chance */
	if (t->placements >= TIMING_PLACEMENTS && t->placements % 4 == 0 && t->n && half_width(s) <= job->precision)
		t->ended_by = "precision";
	else if (t->placements >= PLACEMENTS_MIN && t->n == TIMING_BLOCKS)
		t->ended_by = "rounds";	/* no place for more */
	else if (t->placements >= PLACEMENTS_MIN && t->seconds >= job->max_time)
		t->ended_by = "max_time";
	return t->ended_by;
}

static int run_placements(struct site *s, struct err *e)
{
	struct timing *t = &s->timing;
	int sure = rng_below(&s->rig->rng, PLACEMENTS_MIN);

	if (settle_calls(s, e))
		return -1;
	*t = (struct timing){ .calls = s->walk.calls, .lead = s->walk.lead, .temperature = -1, .power_mw = -1,
			      .precision = s->rig->job->precision, .began = clock_now(), .warm_stable = true };
	s->exam_seconds = 0;
	do {
		bool witness = t->placements == sure ||
			       (t->placements > sure && s->exam_seconds < EXAM_SHARE * t->seconds);

		if (place(s, witness, e))
			return -1;
		t->seconds = clock_now() - t->began;
	} while (!done(s));
	return 0;
}

/* ---- what comes of it */

static int placements_kept(const struct timing *t)
{
	int n = 0;

	for (int i = 0; i < t->n; i++)
		n += i == 0 || t->placement[i] != t->placement[i - 1];
	return n;
}

static void conclude(struct site *s)
{
	struct result *r = &s->r;
	struct timing *t = &s->timing;
	uint64_t seed = job_fresh_seed(s->rig->job);
	double candidate = timing_ns(t, LEG_CANDIDATE);

	if (placements_kept(t) < PLACEMENTS_MIN || t->dropped > t->n) {
		result_fail(r, TIME_NOISY, "%d of %d rounds dropped: the device was %s", t->dropped, t->dropped + t->n,
			    t->shared ? "shared with another process" : "throttled");
		return;
	}
	if (candidate < FLOOR_SLACK * r->floor_ns) {
		result_fail(r, TIME_INVALID,
			    "%.0f ns is less than the device needs for the task's least traffic and arithmetic (%.0f ns)",
			    candidate, r->floor_ns);
		return;
	}
	for (int k = 0; k < LEGS; k++)
		r->ns[k] = timing_ns(t, k);
	r->vs[LEG_BASELINE] = timing_ratio(t, LEG_BASELINE, LEG_CANDIDATE, seed);
	r->vs[LEG_EXPERT] = timing_ratio(t, LEG_EXPERT, LEG_CANDIDATE, seed);
}

/* A fault is of what ran. */
static void fail(struct site *s, const char *why)
{
	if (!gpu_fault(s->rig->gpu) || s->actor >= LEGS)
		site_tool_failed(s, why);	/* unless it is known better */
	else if (s->actor == LEG_CANDIDATE)
		result_fail(&s->r, TIME_FAULT, "while timed: %s", why);
	else
		result_fail(&s->r, TIME_TOOL_ERROR, "the task's own %s, while timed: %s", leg_name[s->actor], why);
}

int site_time(struct site *s)
{
	struct err e = { "" };
	int rc = run_placements(s, &e);

	if (rc)
		fail(s, e.text);
	site_actor(s, ACTOR_TOOL);
	if (s->r.status == TIME_CORRECT)
		conclude(s);
	if (s->r.status != TIME_CORRECT)
		s->timing.n = 0;
	s->r.timing = &s->timing;
	phases_charge(&s->rig->phases, PHASE_TIME);
	return rc ? -1 : 0;
}
