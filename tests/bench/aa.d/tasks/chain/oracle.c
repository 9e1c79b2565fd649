#include "oracle.h"

STAGE(make_x) { t->x[i] = (float)rand_normal(t->seed, 1, i); }

STAGE(iterate)
{
	double v = (double)t->x[i];

	for (i64 k = 0; k < (i64)t->K; k++)
		v = v * t->c + t->d;
	t->ref_y[i] = v;
}
