/* One element of a tensor as a double and back, by the same conversions the oracle uses. */
#ifndef ELEMENT_H
#define ELEMENT_H
#include "dtype.h"

double element_get(enum dtype t, const void *p);
/* Rounds to nearest even; float8 saturates; integers are rounded to the nearest. */
void element_put(enum dtype t, void *p, double x);
#endif
