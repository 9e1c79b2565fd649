/* Names of the legs, in records and messages; the seed. */
#include "job.h"

const char *const leg_name[LEGS] = { "candidate", "baseline", "expert" };

uint64_t job_fresh_seed(const struct job *j)
{
	return j->seeds[j->nseeds - 1];
}
