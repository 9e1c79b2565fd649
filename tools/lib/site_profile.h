/* The profile of a workload's candidate, made when all that counts is told: it may take its time, and may fail. */
#ifndef SITE_PROFILE_H
#define SITE_PROFILE_H
#include "profile.h"
#include "site.h"

/* Fills in all but the counters. chosen: the variants that were timed, call_ns: the time they took. The profile refers
 * to the rig's bundle, not to the site. */
void site_profile(struct site *s, const int *chosen, double call_ns, struct profile *p);
#endif
