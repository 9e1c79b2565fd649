/* Examining runs that were timed. Which they are is decided after they ran. */
#include "site.h"
#include "clock.h"

#define FURTHER_SHARE 0.15	/* of the timing's seconds may go into examining further runs of a placement */

/* Half of the first witnesses are the fresh one; all others are drawn from those timed, without repetition. */
int site_keep(struct site *s, int fresh, struct err *e)
{
	int timed[POOL_MAX], which[POOL_WITNESSES], n = pool_witnesses(&s->pool);

	if (n > s->walk.calls)
		n = s->walk.calls;
	for (int i = 0; i < s->walk.calls; i++)
		timed[i] = s->order[s->walk.lead + i];
	rng_shuffle(&s->rig->rng, timed, s->walk.calls);
	for (int i = 0; i < s->walk.calls && rng_below(&s->rig->rng, 2); i++)
		if (timed[i] == fresh) {
			timed[i] = timed[0];
			timed[0] = fresh;
			break;
		}
	for (int i = 0; i < n; i++)
		which[i] = timed[i];
	return pool_keep(&s->pool, which, n, e);
}

static int wrong(struct site *s, uint64_t seed, const char *why, struct err *e)
{
	result_fail(&s->r, TIME_WRONG, "right when checked, wrong when timed: %s", why);
	s->r.has_seed = true;
	s->r.seed = seed;
	return err_set(e, "%s", s->r.message.data);
}

static int examine(struct site *s, const struct set *witness, struct err *e)
{
	struct buf words = BUF_INIT;
	int rc = site_exam(s, LEG_CANDIDATE, witness, false, &words, e);

	if (rc > 0)
		wrong(s, witness->seed, words.data, e);
	s->timing.examined += rc == 0;
	buf_release(&words);
	return rc ? -1 : 0;
}

int site_look_back(struct site *s, struct err *e)
{
	double start = clock_now(), before = s->exam_seconds;
	int rc = 0;

	if (s->pool.strays)
		rc = wrong(s, s->pool.witness[0].seed, "wrote outside of its buffers", e);
	for (int i = 0; i < s->pool.witnesses && !rc; i++) {
		if (i && s->exam_seconds > FURTHER_SHARE * (clock_now() - s->timing.began))
			break;
		rc = examine(s, &s->pool.witness[i], e);
		s->exam_seconds = before + clock_now() - start;
	}
	if (!site_lost(s))
		pool_forget(&s->pool);
	phases_charge(&s->rig->phases, PHASE_EXAMINE);
	return rc;
}
