#include "oracle.h"

/* Four neighbours. */
FN void fill(bf16 *x, u64 seed, u32 stream, i64 i)
{
	struct normals v = rand_normals(seed, stream, i);

	for (int k = 0; k < 4; k++)
		x[4 * i + k] = bf16_of_float(v.v[k]);
}

STAGE(make_a) { fill(t->a, t->seed, 1, i); }
STAGE(make_b) { fill(t->b, t->seed, 2, i); }
STAGE(widen_a) { t->A[i] = bf16_get(t->a[i]); }
STAGE(widen_b) { t->B[i] = bf16_get(t->b[i]); }
STAGE(put) { t->ref_c[i] = t->C[i]; }
