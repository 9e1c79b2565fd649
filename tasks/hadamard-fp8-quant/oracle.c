/* The orthonormal Walsh-Hadamard transform of each row and its fp8 quantisation, in double.
 *
 * The transform is done in two stages: over the lowest six bits of the channel's number, then over the others. Inputs
 * look like a transformer's hidden states or queries: normal, with channels of different sizes, a few large, and with
 * rows of special kinds, which come in a fixed proportion at places that depend on the seed. */
#include "oracle.h"

#define INNER 64
#define FLOOR 1e-8
#define FP8_MAX 448.0
#define KINDS 32

enum { STREAM_VALUE = 1, STREAM_SHIFT, STREAM_SIZE, STREAM_CHANNEL, STREAM_KIND, STREAM_SPIKE };
enum { SCALE, MEAN, SPIKE };	/* what a token has; SPIKE is the channel, or -1 */

FN double pow2(i64 n) { return of_bits((u64)(n + 1023) << 52); }

STAGE(make_tokens)
{
	double size = pow2(rand_below(t->seed, STREAM_SIZE, 0, 9) - 4), scale = size, mean = 0, spike = -1;
	u64 place = (u64)i + rand_u32(t->seed, STREAM_SHIFT, 0);

	switch (place * 13 % KINDS) {
	case 0:						/* padding */
		scale = 0;
		break;
	case 1: case 2:					/* faint: under the floor, but for 1/sqrt(N) */
		scale = pow2(-33 + rand_below(t->seed, STREAM_KIND, i, 2));
		break;
	case 3:						/* fainter still */
		scale = pow2(-38 - rand_below(t->seed, STREAM_KIND, i, 3));
		break;
	case 4:						/* loud */
		scale = pow2(12 + rand_below(t->seed, STREAM_KIND, i, 2));
		break;
	case 5:						/* a mean */
		mean = size * (0.5 + rand_uniform(t->seed, STREAM_KIND, i));
		break;
	case 6: case 7:					/* one channel a thousand times as large */
		spike = (double)rand_below(t->seed, STREAM_SPIKE, i, t->N);
		break;
	default:					/* tokens of one layer differ a little */
		scale *= 0.5 + rand_uniform(t->seed, STREAM_KIND, i);
	}
	t->token[3 * i + SCALE] = scale;
	t->token[3 * i + MEAN] = mean;
	t->token[3 * i + SPIKE] = spike;
}

STAGE(make_channels)
{
	double size = 0.5 + rand_uniform(t->seed, STREAM_CHANNEL, i);

	switch (rand_below(t->seed, STREAM_CHANNEL, i + t->N, 64)) {
	case 0: size *= 16; break;
	case 1: size *= 0.125; break;
	}
	t->channel[i] = size;
}

/* Four neighbours; rows are multiples of four. */
STAGE(make_x)
{
	i64 m = 4 * i / t->N, c = 4 * i % t->N, spike = (i64)t->token[3 * m + SPIKE];
	struct normals x = rand_normals(t->seed, STREAM_VALUE, i);
	float scale = (float)t->token[3 * m + SCALE], mean = (float)t->token[3 * m + MEAN];

	for (int k = 0; k < 4; k++) {
		float v = x.v[k] * scale * (float)t->channel[c + k] + mean;

		if (c + k == spike)
			v = (x.v[k] < 0.0f ? -1024.0f : 1024.0f) * scale;
		t->x[4 * i + k] = bf16_of_float(v);
	}
}

FN double sign(i64 i, i64 j)
{
	i64 k = i & j;

	k ^= k >> 8;
	k ^= k >> 4;
	k ^= k >> 2;
	k ^= k >> 1;
	return k & 1 ? -1.0 : 1.0;
}

/* z[m, high, j] = sum over i of +-x[m, high, i], the lowest six bits */
STAGE(rotate_inner)
{
	i64 first = i / INNER * INNER, j = i % INNER;
	double sum = 0;

	for (i64 k = 0; k < INNER; k++)
		sum += sign(k, j) * bf16_get(t->x[first + k]);
	t->z[i] = sum;
}

STAGE(rotate_outer)
{
	i64 m = i / t->N, low = i % INNER, j = i % t->N / INNER;
	double sum = 0;

	for (i64 k = 0; k < t->N / INNER; k++)
		sum += sign(k, j) * t->z[m * t->N + k * INNER + low];
	t->y[i] = sum / sqrt((double)t->N);
}

STAGE(scales)
{
	double amax = FLOOR;

	for (i64 j = 0; j < t->N; j++)
		amax = fmax(amax, fabs(t->y[i * t->N + j]));
	t->ref_s[i] = amax / FP8_MAX;
}

STAGE(quantise) { t->ref_q[i] = t->y[i] / t->ref_s[i / t->N]; }
