/* Names of the legs, in records and messages. */
#include "job.h"

const char *const leg_name[LEGS] = { "candidate", "baseline", "expert" };
