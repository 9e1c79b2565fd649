/* The fake device's state and clock, as the environment describes them (README.md). Part of each fake library. */
#ifndef FAKE_WORLD_H
#define FAKE_WORLD_H
#include <stddef.h>

enum { FAKE_SM_MHZ = 2000, FAKE_MEMORY_MHZ = 1, FAKE_BUS_BITS = 4096, FAKE_DEVICES_MAX = 16 };

struct fake_state {
	long sm_mhz, memory_mhz, reasons, temperature, power_mw, others;
};

/* At a moment of the device's time. */
void fake_state_at(double ns, struct fake_state *s);
/* A number from the environment. */
/* A text from the environment, "" when there is none. */
const char *fake_text(const char *name);
double fake_number(const char *name, double otherwise);
int fake_devices(void);
/* The code with which this call of the function is to fail; 0: none. Counts the call. */
int fake_failure(const char *function);
/* Normally distributed, the next of a sequence that only its state determines. */
double fake_normal(unsigned long long *state);

/* Of the CUDA library, found by NVML there: the device's time as seen from outside, and whether a context exists. */
double fake_seen_ns(void);
int fake_has_context(void);
#endif
