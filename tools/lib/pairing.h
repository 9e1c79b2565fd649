/* Which trials may be compared. Two arms of a pair (same model, task and repeat) must have been told and given the same
 * apart from guidance: prompt.shared_hash says so. */
#ifndef PAIRING_H
#define PAIRING_H
#include "trial.h"

/* Two trials that are not compared, because their hashes differ or one has none; ids are owned. */
struct refusal {
	char *a, *b;		/* a: of the arm without guidance */
	bool a_out, b_out;	/* which of them is left out of the report */
};

struct pairing {
	struct refusal *refusals;
	size_t nrefusals, refusals_cap;
	char **duplicates;	/* ids seen before; the first record counts */
	size_t nduplicates, duplicates_cap;
	int mixed;		/* model-task cells whose repeats differ in their hash, each pair in itself agreeing */
};

/* Sorts the trials by model, task, repeat and arm, and marks those to be left out. Against the arm without guidance:
 * a trial `with` that differs is left out together with its partner; a trial of an ablation arm that differs is left
 * out alone if `with` agrees, else both are; a trial without a partner in its repeat is left out if it differs from one
 * of another repeat. Design trials are not paired. */
void pairing_find(struct pairing *p, struct trials *t);
void pairing_release(struct pairing *p);
#endif
