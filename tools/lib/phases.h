/* Where the time of a record goes: to start the device, compile the oracle, take memory, load modules, check, choose
 * variants; and for each placement to make it, make data, wipe what is no input, run what is timed, examine some of it. */
#ifndef PHASES_H
#define PHASES_H
#include "buf.h"

enum phase { PHASE_START, PHASE_ORACLE, PHASE_MEMORY, PHASE_LOAD, PHASE_CHECK, PHASE_CHOOSE, PHASE_PLACE,
	PHASE_DATA, PHASE_WIPE, PHASE_TIME, PHASE_EXAMINE, PHASES };

struct phases {
	double seconds[PHASES];
	double mark;		/* of the clock: what came before is charged */
};

void phases_start(struct phases *p);
/* Charges the time since the last call to a phase. */
void phases_charge(struct phases *p, enum phase to);
/* "start 0.214 s, oracle 0.0077 s, ..." */
void phases_words(const struct phases *p, struct buf *out);
#endif
