/* TODO: what is computed, and what the inputs are like. Here: softmax of each row, in double; rows from flat to peaked. */
#include "oracle.h"

enum { STREAM_VALUE = 1, STREAM_SPREAD };

/* 1/8 to 64: with the scale, from a flat row to one with a single winner. */
STAGE(make_spread) { t->spread[i] = (double)((i64)1 << rand_below(t->seed, STREAM_SPREAD, i, 10)) / 8; }
STAGE(make_x) { t->x[i] = bf16_of_float((float)(rand_normal(t->seed, STREAM_VALUE, i) * t->spread[i / t->C])); }

FN double scaled(const struct task *t, i64 i) { return t->scale * bf16_get(t->x[i]); }

STAGE(find_largest)
{
	double m = scaled(t, i * t->C);

	for (i64 c = 1; c < t->C; c++)
		m = fmax(m, scaled(t, i * t->C + c));
	t->largest[i] = m;
}

STAGE(find_sum)
{
	double sum = 0;

	for (i64 c = 0; c < t->C; c++)
		sum += exp(scaled(t, i * t->C + c) - t->largest[i]);
	t->sum[i] = sum;
}

STAGE(divide) { t->ref_y[i] = exp(scaled(t, i) - t->largest[i / t->C]) / t->sum[i / t->C]; }
