#include "oracle.h"

/* Four neighbours. */
STAGE(make_x)
{
	struct normals v = rand_normals(t->seed, 1, i);

	for (int k = 0; k < 4; k++)
		t->x[4 * i + k] = v.v[k];
}

STAGE(iterate)
{
	double v = (double)t->x[i];

	for (i64 k = 0; k < (i64)t->K; k++)
		v = v * t->c + t->d;
	t->ref_y[i] = v;
}
