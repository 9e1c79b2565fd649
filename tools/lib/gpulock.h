/* One d2k-time at a time on a GPU, whoever runs it: a lock on a file per device. */
#ifndef GPULOCK_H
#define GPULOCK_H
#include "die.h"
#include <stdbool.h>

/* Takes the lock until the process ends; the file then holds its pid, for people. 0, 1 when another process has it
 * (never with `wait`), -1 error. */
int gpulock_take(const char *uuid, bool wait, struct err *e);
#endif
