#include "oracle.h"

/* Four neighbours. */
STAGE(make_x)
{
	struct normals v = rand_normals(t->seed, 1, i);

	for (int k = 0; k < 4; k++)
		t->x[4 * i + k] = bf16_of_float(v.v[k]);
}

STAGE(make_w) { t->w[i] = bf16_put(1 + rand_uniform(t->seed, 2, i)); }

STAGE(sum_squares)
{
	double sum = 0;

	for (i64 k = 256 * i; k < 256 * (i + 1); k++)
		sum += bf16_get(t->x[k]) * bf16_get(t->x[k]);
	t->squares[i] = sum;
}

STAGE(invert)
{
	i64 parts = t->N / 256;
	double sum = 0;

	for (i64 k = parts * i; k < parts * (i + 1); k++)
		sum += t->squares[k];
	t->inverse[i] = 1 / det_sqrt(sum / (double)t->N + 1e-6);
}

STAGE(scale) { t->ref_y[i] = bf16_get(t->x[i]) * t->inverse[i / t->N] * bf16_get(t->w[i % t->N]); }
