/* Backward of residual add and RMSNorm, in double.
 *
 * Rows of s differ in size, as tokens of a residual stream do, have outlier channels, and a few rows massive ones. Rows
 * of dy differ more, follow s in part, with either sign, or are zero. rstd is near to the true one, but not equal. */
#include "oracle.h"

#define PART 256	/* channels in a piece of a row's sum */
#define BAND 128	/* rows in a piece of a column's sum */

enum { STREAM_SCALE = 1, STREAM_ROW, STREAM_CHANNEL, STREAM_W, STREAM_S, STREAM_DY, STREAM_DS };

FN double pow2(i64 n) { return of_bits((u64)(n + 1023) << 52); }

/* ---- inputs */

/* Sizes of s, of dy and of w, of the seed. */
FN double size(const struct task *t, i64 what, i64 least, i64 choices)
{
	return pow2(least + rand_below(t->seed, STREAM_SCALE, what, choices));
}

FN double size_of_w(const struct task *t) { return size(t, 2, -2, 5); }

/* One in 1024 of the channels, which few rows use. */
FN int is_massive(i64 n) { return n % 1024 == 37; }
FN double count_massive(const struct task *t) { return (double)((t->N + 986) / 1024); }

STAGE(make_channels)
{
	i64 kind = rand_below(t->seed, STREAM_CHANNEL, 2 * i, 64);
	double w = 0.25 + rand_uniform(t->seed, STREAM_W, i);

	t->channel[2 * i] = kind == 0 ? 6 : 1;
	t->channel[2 * i + 1] = pow2(-rand_below(t->seed, STREAM_CHANNEL, 2 * i + 1, 3));
	t->w[i] = bf16_put(size_of_w(t) * (rand_below(t->seed, STREAM_W, t->N + i, 8) ? w : -w));
}

/* Of a row: the size of s, negative where it has massive channels; the size of dy; how far dy follows s; the size of
 * ds_out. The last row is an ordinary one. */
STAGE(make_rows)
{
	i64 at = 8 * i, last = i == t->M - 1;
	int massive = !last && rand_below(t->seed, STREAM_ROW, at, 32) == 0;
	int padding = !last && rand_below(t->seed, STREAM_ROW, at + 1, 32) == 0;
	double s = size(t, 0, -3, 7) * (0.25 + 2 * rand_uniform(t->seed, STREAM_ROW, at + 2));
	double dy = size(t, 1, -12, 11) * pow2(-rand_below(t->seed, STREAM_ROW, at + 3, last ? 3 : 8));
	i64 follows = rand_below(t->seed, STREAM_ROW, at + 4, 8);
	/* What the channels add to the mean square, on average. */
	double mean_square = 1 + 35.0 / 64 + (massive ? 128 * 128 * count_massive(t) / (double)t->N : 0);
	double near = 0.9 + 0.2 * rand_uniform(t->seed, STREAM_ROW, at + 5);

	t->row[4 * i] = massive ? -s : s;
	t->row[4 * i + 1] = padding ? 0 : dy;
	t->row[4 * i + 2] = follows < 3 ? 0 : 0.25 * (double)(follows - 4);
	t->rstd[i] = (float)(near / (s * det_sqrt(mean_square)));
	t->row[4 * i + 3] = 0.5 * dy * size_of_w(t) * (double)t->rstd[i];
}

/* Four neighbours. */
STAGE(make_tensors)
{
	i64 m = 4 * i / t->N, n = 4 * i % t->N;
	struct normals a = rand_normals(t->seed, STREAM_S, i), b = rand_normals(t->seed, STREAM_DY, i);
	struct normals c = rand_normals(t->seed, STREAM_DS, i);
	float s = (float)t->row[4 * m], dy = (float)t->row[4 * m + 1], follow = (float)t->row[4 * m + 2];
	int massive = s < 0;
	float ds = (float)t->row[4 * m + 3];

	s = massive ? -s : s;
	for (int k = 0; k < 4; k++) {
		float x = a.v[k] * (massive && is_massive(n + k) ? 128.0f : (float)t->channel[2 * (n + k)]);
		float y = (b.v[k] + follow * a.v[k]) * (float)t->channel[2 * (n + k) + 1];

		t->s[4 * i + k] = bf16_of_float(x * s);
		t->dy[4 * i + k] = bf16_of_float(y * dy);
		t->ds_out[4 * i + k] = bf16_of_float(c.v[k] * ds);
	}
}

/* ---- outputs */

FN i64 parts(const struct task *t) { return (t->N + PART - 1) / PART; }

STAGE(row_parts)
{
	i64 m = i / parts(t), begin = i % parts(t) * PART, end = begin + PART < t->N ? begin + PART : t->N;
	double sum = 0;

	for (i64 n = begin; n < end; n++)
		sum += bf16_get(t->dy[m * t->N + n]) * bf16_get(t->w[n]) * bf16_get(t->s[m * t->N + n]);
	t->part[i] = sum;
}

STAGE(row_means)
{
	double sum = 0;

	for (i64 k = 0; k < parts(t); k++)
		sum += t->part[i * parts(t) + k];
	t->mean[i] = sum / (double)t->N;
}

STAGE(row_gradient)
{
	i64 m = i / t->N, n = i % t->N;
	double r = (double)t->rstd[m], g = bf16_get(t->dy[i]) * bf16_get(t->w[n]);

	t->ref_dx[i] = r * (g - bf16_get(t->s[i]) * r * r * t->mean[m]) + bf16_get(t->ds_out[i]);
}

STAGE(weight_parts)
{
	i64 n = i % t->N, begin = i / t->N * BAND, end = begin + BAND < t->M ? begin + BAND : t->M;
	double sum = 0;

	for (i64 m = begin; m < end; m++)
		sum += bf16_get(t->dy[m * t->N + n]) * bf16_get(t->s[m * t->N + n]) * (double)t->rstd[m];
	t->sums[i] = sum;
}

STAGE(weight_gradient)
{
	double sum = 0;

	for (i64 k = 0; k < (t->M + BAND - 1) / BAND; k++)
		sum += t->sums[k * t->N + i];
	t->ref_dw[i] = sum;
}
