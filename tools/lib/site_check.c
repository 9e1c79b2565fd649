/* Correctness of a workload, before anything is timed. */
#include "site.h"
#include "choice.h"
#include "progress.h"
#include <string.h>

/* The set that is used next. Any will do as it will when timed: a run must not be able to tell the one from the other. */
static struct set *draw(struct site *s)
{
	return &s->pool.set[rng_below(&s->rig->rng, s->nsets)];
}

/* One run of a leg on a set that holds fresh data; `careful`: step by step, so that a failure has a name. */
static int run_once(struct site *s, int leg, const struct set *set, bool careful)
{
	struct replay *r = &s->replay[leg];
	double hang = s->rig->job->hang;
	struct err e = { "" };
	int rc;

	if (leg == LEG_CANDIDATE)
		pool_forget(&s->pool);
	site_actor(s, leg);
	if (careful)
		rc = replay_careful(r, set->base, hang, &e);
	else
		rc = replay_call(r, set->base, &e) ? -1 : gpu_wait(s->rig->gpu, hang, &e);
	site_actor(s, ACTOR_TOOL);
	if (rc < 0) {
		site_failed(s, leg, e.text);
	} else if (rc > 0) {
		err_set(&e, "kernel %s (step %d of %d)", replay_step_name(r, r->step), r->step + 1, r->plan->nsteps);
		site_hangs(s, leg, e.text);
	}
	return rc ? -1 : 0;
}

/* Data of a seed, and poison, in a set. */
static int make(struct site *s, struct set *set, uint64_t seed, uint64_t poison)
{
	struct err e = { "" };
	int rc;

	site_actor(s, ACTOR_ORACLE);
	rc = set_make(&s->l, set, seed, poison, &e) || gpu_sync(s->rig->gpu, &e);
	site_actor(s, ACTOR_TOOL);
	if (rc)
		site_tool_failed(s, e.text);
	return rc ? -1 : 0;
}

int site_seed(struct site *s, int n)
{
	struct set *set = draw(s);
	struct buf words = BUF_INIT;
	struct err e = { "" };
	int rc;

	/* an odd poison makes NaN of the outputs, an even one noise */
	if (make(s, set, s->rig->job->seeds[n], (rng_next(&s->rig->rng) | 1) ^ (n & 1)) ||
	    run_once(s, LEG_CANDIDATE, set, n == 0))
		return -1;
	rc = site_exam(s, LEG_CANDIDATE, set, false, &words, &e);
	if (rc < 0)
		site_tool_failed(s, e.text);
	else if (rc > 0)
		result_fail(&s->r, TIME_WRONG, "%s", words.data);
	buf_release(&words);
	return rc ? -1 : 0;
}

static int check_seeds(struct site *s)
{
	for (int n = 0; n < s->rig->job->nseeds; n++)
		if (site_seed(s, n)) {
			s->r.has_seed = true;
			s->r.seed = s->rig->job->seeds[n];
			return -1;
		}
	return 0;
}

static bool has_variants(const struct replay *r)
{
	for (int i = 0; i < r->plan->nsteps; i++)
		if (r->plan->steps[i].nvariants > 1)
			return true;
	return false;
}

/* The fastest configuration of each autotuned step; the task's own plans keep theirs on this device, and so does who
 * submits one of them. */
static int tune(struct site *s, int leg, struct err *e)
{
	struct replay *r = &s->replay[leg];
	struct buf *said = &s->r.variants[leg];
	int rc;

	if (choice_load(&s->rig->info, r, said))
		return 0;
	rc = walk_choose(&s->walk, r, said, e);
	if (rc)
		return rc;
	if (leg != LEG_CANDIDATE)
		choice_keep(&s->rig->info, r, said);
	return 0;
}

/* A leg timed against itself runs what the candidate does. */
static int choose(struct site *s, int leg)
{
	struct replay *r = &s->replay[leg];
	struct err e = { "" };
	int rc;

	if (!has_variants(r))
		return 0;
	if (s->rig->job->self_test && leg != LEG_CANDIDATE) {
		memcpy(r->chosen, s->replay[LEG_CANDIDATE].chosen, (size_t)r->plan->nsteps * sizeof(*r->chosen));
		return 0;
	}
	phases_charge(&s->rig->phases, PHASE_CHECK);
	site_actor(s, leg);
	rc = tune(s, leg, &e);
	site_actor(s, ACTOR_TOOL);
	if (rc < 0)
		site_failed(s, leg, e.text);
	else if (rc > 0)
		site_hangs(s, leg, "a configuration, when autotuned,");
	phases_charge(&s->rig->phases, PHASE_CHOOSE);
	return rc;
}

/* The task's own baseline or expert on the last seed, whose references are there still. It is not timed unless it is
 * right. */
static int check_own(struct site *s, int leg)
{
	const struct job *job = s->rig->job;
	struct set *set = draw(s);
	struct buf words = BUF_INIT;
	struct err e = { "" };
	int rc;

	if (choose(s, leg) || make(s, set, job_fresh_seed(job), rng_next(&s->rig->rng) | 1) ||
	    run_once(s, leg, set, true))
		return -1;
	rc = site_exam(s, leg, set, true, &words, &e);
	if (rc < 0) {
		site_tool_failed(s, e.text);
	} else if (rc > 0 && leg == LEG_BASELINE) {
		result_fail(&s->r, TIME_TOOL_ERROR, "the task's own baseline is wrong: %s", words.data);
	} else if (rc > 0) {
		s->ready[leg] = false;
		err_set(&s->lacks[leg], "it is wrong: %s", words.data);
		rc = 0;
	}
	buf_release(&words);
	return rc ? -1 : 0;
}

static bool any_variants(const struct site *s)
{
	for (int k = 0; k < LEGS; k++)
		if (s->ready[k] && has_variants(&s->replay[k]))
			return true;
	return false;
}

static int check(struct site *s)
{
	struct err e = { "" };

	if (any_variants(s) && site_fill(s, &e)) {
		site_tool_failed(s, e.text);
		return -1;
	}
	/* a configuration may hang or fault: once with care before many are tried */
	if (has_variants(&s->replay[LEG_CANDIDATE]) &&
	    (run_once(s, LEG_CANDIDATE, draw(s), true) || choose(s, LEG_CANDIDATE)))
		return -1;
	if (check_seeds(s))
		return -1;
	for (int k = LEG_BASELINE; k < LEGS; k++)
		if (s->ready[k] && check_own(s, k))
			return -1;
	return 0;
}

int site_check(struct site *s)
{
	int rc = check(s);

	if (!site_lost(s))
		pool_forget(&s->pool);
	phases_charge(&s->rig->phases, PHASE_CHECK);
	return rc;
}
