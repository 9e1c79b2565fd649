/* The clock that only runs forward, for measuring how long something takes. */
#ifndef CLOCK_H
#define CLOCK_H

double clock_now(void);	/* seconds since some fixed moment */
#endif
