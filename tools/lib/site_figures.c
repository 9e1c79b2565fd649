/* Runs whose figures are wanted, not their times. */
#include "site.h"
#include "tolerance.h"

/* Tuning would time them. Steps of one kernel are configured alike. */
static void configure(struct replay *r, int n)
{
	for (int i = 0; i < r->plan->nsteps; i++)
		if (r->plan->steps[i].nvariants > 1)
			r->chosen[i] = n % r->plan->steps[i].nvariants;
}

void site_figures(struct site *s)
{
	const struct job *job = s->rig->job;
	const char *id = s->r.id;
	bool go_on = true;

	for (int n = 0; n < job->nseeds && go_on; n++) {
		result_release(&s->r);
		result_init(&s->r, id);
		configure(&s->replay[LEG_CANDIDATE], n);
		site_seed(s, n);
		tolerance_tell(s->rig->fd, &s->r, job->seeds[n]);
		go_on = s->r.status == TIME_CORRECT || s->r.status == TIME_WRONG;
	}
	if (!site_lost(s))
		pool_forget(&s->pool);
	phases_charge(&s->rig->phases, PHASE_CHECK);
}
