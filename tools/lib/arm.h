/* The arms of a trial: how much of the expert's design a model is given, and whether it hands in code or words. */
#ifndef ARM_H
#define ARM_H

enum arm { ARM_WITHOUT, ARM_L1, ARM_L1_L2, ARM_WITH, ARM_DESIGN, ARMS };
extern const char *const arm_name[ARMS];
#define ARM_NAMES "without, with, L1, L1+L2 or design"
/* The levels of guidance an arm gives (bit 0: L1 ...). ARM_DESIGN gives none and asks for words. */
extern const unsigned arm_levels[ARMS];
int arm_find(const char *name);	/* -1: no arm of that name; name may be NULL */
#endif
