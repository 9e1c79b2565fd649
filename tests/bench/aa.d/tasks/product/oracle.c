#include "oracle.h"

STAGE(make_a) { t->a[i] = bf16_put(rand_normal(t->seed, 1, i)); }
STAGE(make_b) { t->b[i] = bf16_put(rand_normal(t->seed, 2, i)); }
STAGE(widen_a) { t->A[i] = bf16_get(t->a[i]); }
STAGE(widen_b) { t->B[i] = bf16_get(t->b[i]); }
STAGE(put) { t->ref_c[i] = t->C[i]; }
