/* Keeping account of time. */
#include "phases.h"
#include "clock.h"

static const char *const phase_name[PHASES] = {
	[PHASE_START] = "start", [PHASE_ORACLE] = "oracle", [PHASE_MEMORY] = "memory", [PHASE_LOAD] = "load",
	[PHASE_CHECK] = "check", [PHASE_CHOOSE] = "choose", [PHASE_PLACE] = "place",
	[PHASE_DATA] = "data", [PHASE_WIPE] = "wipe", [PHASE_TIME] = "time", [PHASE_EXAMINE] = "examine",
};

void phases_start(struct phases *p)
{
	*p = (struct phases){ .mark = clock_now() };
}

void phases_charge(struct phases *p, enum phase to)
{
	double now = clock_now();

	p->seconds[to] += now - p->mark;
	p->mark = now;
}

void phases_words(const struct phases *p, struct buf *out)
{
	for (int i = 0; i < PHASES; i++)
		buf_addf(out, "%s%s %.4g s", i ? ", " : "", phase_name[i], p->seconds[i]);
}
