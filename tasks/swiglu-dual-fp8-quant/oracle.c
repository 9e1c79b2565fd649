/* SwiGLU and its two fp8 quantisations, in double.
 *
 * Inputs look like the output of a gate/up projection: normal, with a few outlier tokens and features, some padding
 * tokens (zero), dead features (zero) and faint ones, whose blocks lie under the floor of the scale. */
#include "oracle.h"

#define BLOCK 128
#define FLOOR 1e-4
#define FP8_MAX 448.0

enum { STREAM_VALUE = 1, STREAM_TOKEN, STREAM_FEATURE, STREAM_SCALE };

FN double pow2(i64 n) { return of_bits((u64)(n + 1023) << 52); }

/* What a token does to its gate and its up. */
FN double token_factor(const struct task *t, i64 m, i64 up)
{
	switch (rand_below(t->seed, STREAM_TOKEN, m, 64)) {
	case 0: return 0;			/* padding */
	case 1: return up ? pow2(-16) : 1;	/* faint: under the floor */
	case 2: return 4;			/* outlier */
	default: return 1;
	}
}

FN double feature_factor(const struct task *t, i64 f, i64 up)
{
	if (!up)
		return 1;
	switch (rand_below(t->seed, STREAM_FEATURE, f, 128)) {
	case 0: return 0;			/* dead */
	case 1: return pow2(-18);		/* faint */
	case 2: case 3: return 8;		/* outlier */
	default: return 1;
	}
}

/* The gate decides where on silu's curve we are: 1/2 to 4. Up only scales: 1/8 to 8. */
FN double size(const struct task *t, i64 up)
{
	return pow2(up ? rand_below(t->seed, STREAM_SCALE, 1, 7) - 3 : rand_below(t->seed, STREAM_SCALE, 0, 4) - 1);
}

STAGE(make_tokens) { t->token[i] = size(t, i % 2) * token_factor(t, i / 2, i % 2); }
STAGE(make_features) { t->feature[i] = feature_factor(t, i % t->F, i / t->F); }

/* Four neighbours; rows and their halves are multiples of four. */
STAGE(make_gu)
{
	i64 m = 4 * i / (2 * t->F), c = 4 * i % (2 * t->F);
	struct normals x = rand_normals(t->seed, STREAM_VALUE, i);
	float token = (float)t->token[2 * m + (c >= t->F)];

	for (int k = 0; k < 4; k++)
		t->gu[4 * i + k] = bf16_of_float(x.v[k] * token * (float)t->feature[c + k]);
}

STAGE(swiglu)
{
	i64 m = i / t->F, f = i % t->F;
	const bf16 *row = t->gu + m * 2 * t->F;
	double g = bf16_get(row[f]), u = bf16_get(row[t->F + f]);

	t->h[i] = g / (1 + exp(-g)) * u;
}

STAGE(row_scales)
{
	double amax = FLOOR;

	for (int k = 0; k < BLOCK; k++)
		amax = fmax(amax, fabs(t->h[i * BLOCK + k]));
	t->ref_sr[i] = amax / FP8_MAX;
}

STAGE(column_scales)
{
	i64 blocks = t->M / BLOCK, f = i / blocks, m = i % blocks * BLOCK;
	double amax = FLOOR;

	for (int k = 0; k < BLOCK; k++)
		amax = fmax(amax, fabs(t->h[(m + k) * t->F + f]));
	t->ref_sc[i] = amax / FP8_MAX;
}

STAGE(quantise_rows)
{
	t->ref_q[i] = t->h[i] / t->ref_sr[i / BLOCK];
}

STAGE(quantise_columns)
{
	i64 f = i / t->M, m = i % t->M;

	t->ref_qt[i] = t->h[m * t->F + f] / t->ref_sc[f * (t->M / BLOCK) + m / BLOCK];
}
