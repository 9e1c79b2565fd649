/* Correctness of a workload, before anything is timed. */
#include "site.h"

/* Something failed while the plan of a leg ran: its own fault, unless it is one of the task's. */
static void run_failed(struct site *s, int leg, const char *why)
{
	const struct replay *r = &s->replay[leg];
	const char *kernel = replay_step_name(r, r->step);

	if (leg == LEG_CANDIDATE)
		result_fail(&s->r, TIME_FAULT, "kernel %s (step %d of %d): %s", kernel, r->step + 1, r->plan->nsteps,
			    why);
	else
		result_fail(&s->r, TIME_TOOL_ERROR, "the task's own %s, kernel %s: %s", leg_name[leg], kernel, why);
}

static void run_hangs(struct site *s, int leg)
{
	const struct replay *r = &s->replay[leg];

	s->hangs = true;
	if (leg == LEG_CANDIDATE)
		result_fail(&s->r, TIME_TIMEOUT, "kernel %s (step %d of %d) had not ended after %g s",
			    replay_step_name(r, r->step), r->step + 1, r->plan->nsteps, s->rig->job->hang);
	else
		result_fail(&s->r, TIME_TOOL_ERROR, "the task's own %s hangs", leg_name[leg]);
}

/* One run of a leg on set 0, which holds fresh data; `careful`: step by step, so that a failure has a name. */
static int run_once(struct site *s, int leg, bool careful)
{
	struct replay *r = &s->replay[leg];
	uint64_t base = s->set[0].base;
	double hang = s->rig->job->hang;
	struct err e = { "" };
	int rc;

	if (careful)
		rc = replay_careful(r, base, base, hang, &e);
	else
		rc = replay_call(r, base, base, &e) ? -1 : gpu_wait(s->rig->gpu, hang, &e);
	if (rc < 0)
		run_failed(s, leg, e.text);
	else if (rc > 0)
		run_hangs(s, leg);
	return rc ? -1 : 0;
}

/* Data in set 0. */
static int make(struct site *s, uint64_t seed, uint64_t poison, bool nan)
{
	struct err e = { "" };

	if (!set_make(&s->l, &s->set[0], seed, poison, nan, &e) && !gpu_sync(s->rig->gpu, &e))
		return 0;
	site_tool_failed(s, e.text);
	return -1;
}

static int run_seed(struct site *s, int n)
{
	struct buf words = BUF_INIT;
	struct err e = { "" };
	int rc;

	if (make(s, s->rig->job->seeds[n], rng_next(&s->rig->rng), n % 2 == 0) ||
	    run_once(s, LEG_CANDIDATE, n == 0))
		return -1;
	rc = site_reference(s, 0, &e) ? -1 : site_exam(s, LEG_CANDIDATE, 0, 0, &words, &e);
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
		if (run_seed(s, n)) {
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

static int choose(struct site *s, int leg)
{
	struct buf out = BUF_INIT;
	struct err e = { "" };
	int rc = 0;

	if (!has_variants(&s->replay[leg]))
		return 0;
	phases_charge(&s->rig->phases, PHASE_CHECK);
	rc = walk_choose(&s->walk, &s->replay[leg], &out, &e);
	if (rc)
		run_failed(s, leg, e.text);
	else if (leg == LEG_CANDIDATE)
		buf_addbuf(&s->r.variants, &out);
	buf_release(&out);
	phases_charge(&s->rig->phases, PHASE_CHOOSE);
	return rc;
}

/* The task's own baseline or expert on the last seed, whose references are there still. It is not timed unless it is
 * right. */
static int check_own(struct site *s, int leg)
{
	struct buf words = BUF_INIT;
	struct err e = { "" };
	int rc;

	if (choose(s, leg) || make(s, s->set[0].seed, s->set[0].poison, true) || run_once(s, leg, true))
		return -1;
	rc = site_exam(s, leg, 0, 0, &words, &e);
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

static int check(struct site *s)
{
	struct err e = { "" };

	if (site_fill(s, &e)) {
		site_tool_failed(s, e.text);
		return -1;
	}
	/* a configuration may hang or fault: once with care before many are tried */
	if (has_variants(&s->replay[LEG_CANDIDATE]) && (run_once(s, LEG_CANDIDATE, true) || choose(s, LEG_CANDIDATE)))
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

	phases_charge(&s->rig->phases, PHASE_CHECK);
	return rc;
}
