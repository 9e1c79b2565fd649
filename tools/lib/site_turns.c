/* Blocks and rounds of one placement. */
#include "site.h"
#include "clock.h"
#include "nvml.h"
#include "progress.h"
#include <math.h>

enum { ROUNDS = 6, ROUNDS_FEW = 3 };
#define LONG_NS 2e7	/* a round this long is repeated less often */

/* What was seen of the device in a round. */
struct sight {
	uint64_t reasons;
	bool shared;
	int temperature, power_mw;
};

static int higher(int a, int b)
{
	return a > b ? a : b;
}

/* Reads clocks until nothing runs any more: the last reading stands for the block. 1: it does not end. */
static int watch(struct site *s, struct block *b, struct sight *seen, struct err *e)
{
	double end = clock_now() + s->rig->job->hang;
	struct nvml_reading r;
	int rc;

	do {
		nvml_clocks(s->rig->nvml, &r);
		b->sm_mhz = r.sm_mhz;
		b->memory_mhz = r.memory_mhz;
		seen->reasons |= r.reasons;
		rc = gpu_busy(s->rig->gpu, e);
	} while (rc > 0 && clock_now() < end);
	return rc;
}

int site_lap_hangs(struct site *s, int leg, struct err *e)
{
	err_set(e, "right when checked, but %d calls", s->walk.lead + s->walk.calls);
	site_hangs(s, leg, e->text);
	return -1;
}

static int wipe(struct site *s, struct err *e)
{
	int rc = pool_spoil(&s->pool, &s->rig->rng, e) || gpu_l2_reset(s->rig->gpu, e) || gpu_sync(s->rig->gpu, e);

	phases_charge(&s->rig->phases, PHASE_WIPE);
	return rc ? -1 : 0;
}

static int run_block(struct site *s, int k, struct block *b, struct sight *seen, struct err *e)
{
	double ns;
	int rc;

	if (wipe(s, e))
		return -1;
	site_actor(s, k);
	if (gpu_graph_run(s->rig->gpu, s->lap[k].graph, e))
		return -1;
	rc = watch(s, b, seen, e);
	phases_charge(&s->rig->phases, PHASE_TIME);
	if (rc > 0)
		return site_lap_hangs(s, k, e);
	if (rc || gpu_event_ns(s->rig->gpu, s->lap[k].from, s->lap[k].to, &ns, e))
		return -1;
	b->ns = llrint(ns);
	site_actor(s, ACTOR_TOOL);
	return 0;
}

/* Whether a round's blocks can be used; takes what was seen into the account. */
static bool usable(struct timing *t, const struct sight *seen)
{
	uint64_t bad = seen->reasons & nvml_throttle_mask;

	t->temperature = higher(t->temperature, seen->temperature);
	t->power_mw = higher(t->power_mw, seen->power_mw);
	t->shared = t->shared || seen->shared;
	if (bad || seen->shared) {
		t->dropped++;
		t->dropped_for |= bad;
		return false;
	}
	t->reasons |= seen->reasons;
	return true;
}

/* New data for one of the sets that are timed. */
static int renew(struct site *s, int *fresh, struct err *e)
{
	int rc;

	site_actor(s, ACTOR_ORACLE);
	*fresh = s->order[s->walk.lead + rng_below(&s->rig->rng, s->walk.calls)];
	rc = pool_generate(&s->pool, *fresh, ++s->data_seed, e) || gpu_sync(s->rig->gpu, e);
	site_actor(s, ACTOR_TOOL);
	phases_charge(&s->rig->phases, PHASE_DATA);
	return rc ? -1 : 0;
}

/* Every leg once. One set has new data. keep: runs of this round are examined. */
static int round_of(struct site *s, const int order[LEGS], struct block block[LEGS], struct sight *seen, bool keep,
		    struct err *e)
{
	int fresh;

	if (renew(s, &fresh, e))
		return -1;
	for (int i = 0; i < LEGS; i++) {
		int k = order[i];

		if (!s->lap[k].graph)
			continue;
		if (run_block(s, k, &block[k], seen, e))
			return -1;
		if (k == LEG_CANDIDATE && keep && site_keep(s, fresh, e))
			return -1;
	}
	return keep ? site_look_back(s, e) : 0;
}

static void look(const struct site *s, struct sight *seen)
{
	struct nvml_reading r;

	nvml_read(s->rig->nvml, &r);
	*seen = (struct sight){ .reasons = r.reasons, .shared = nvml_sharing(s->rig->nvml) > 0,
				.temperature = r.temperature, .power_mw = r.power_mw };
}

/* Six rounds have each order of three legs once, three have each leg once in each place. */
static void make_orders(struct site *s, int order[ROUNDS][LEGS])
{
	int first[LEGS] = { 0, 1, 2 };

	rng_shuffle(&s->rig->rng, first, LEGS);
	for (int r = 0; r < ROUNDS; r++)
		for (int i = 0; i < LEGS; i++)
			order[r][i] = first[(r < LEGS ? i + r : LEGS - 1 - i + r) % LEGS];
}

/* One round that does not count, and by which it is known how many can be afforded. The baseline, which leads in for all,
 * has the first turn: were it to fault, it should be in a block of its own. */
static int rehearse(struct site *s, int order[ROUNDS][LEGS], int *rounds, struct err *e)
{
	struct block block[LEGS] = { 0 };
	struct sight seen = { 0 };
	double ns = 0;
	int n;

	do
		n = rng_below(&s->rig->rng, ROUNDS);
	while (order[n][0] != LEG_BASELINE);
	if (round_of(s, order[n], block, &seen, false, e))
		return -1;
	for (int k = 0; k < LEGS; k++)
		ns += (double)block[k].ns;
	*rounds = ns < LONG_NS && !timing_rounds_suffice(&s->timing, ROUNDS_FEW) ? ROUNDS : ROUNDS_FEW;
	return 0;
}

int site_turns(struct site *s, bool witness, struct err *e)
{
	struct timing *t = &s->timing;
	int order[ROUNDS][LEGS], turn[ROUNDS], rounds, kept;

	make_orders(s, order);
	if (rehearse(s, order, &rounds, e))
		return -1;
	for (int i = 0; i < rounds; i++)
		turn[i] = i;
	rng_shuffle(&s->rig->rng, turn, rounds);
	kept = witness ? rounds - 1 : -1;	/* what is taken and given back for it disturbs what runs next */
	for (int i = 0; i < rounds && t->n < TIMING_BLOCKS; i++) {
		struct sight seen;

		look(s, &seen);
		if (round_of(s, order[turn[i]], t->block[t->n], &seen, i == kept, e))
			return -1;
		t->placement[t->n] = t->placements;
		t->n += usable(t, &seen);
	}
	return 0;
}
