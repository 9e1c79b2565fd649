/* Causal attention with a sliding window and sinks, in double.
 *
 * Queries have one of eight kinds, which change with head and position: plain noise, flat to sharp, or noise and a
 * token to be found: the query's own, the oldest in its window, the one before that, the next one, or one somewhere
 * in the window, with a score beyond what exp in single precision can take. */
#include "oracle.h"

enum { STREAM_SIZE = 1, STREAM_MEAN, STREAM_SINK, STREAM_KEY, STREAM_VALUE, STREAM_QUERY };

FN double pow2(i64 n) { return of_bits((u64)(n + 1023) << 52); }

/* ---- inputs; four neighbours at a time */

STAGE(make_sizes)
{
	t->size[2 * i] = pow2(rand_below(t->seed, STREAM_SIZE, 2 * i, 5) - 2);
	t->size[2 * i + 1] = pow2(rand_below(t->seed, STREAM_SIZE, 2 * i + 1, 7) - 3);
}

STAGE(make_means) { t->mean[i] = 0.5 * rand_normal(t->seed, STREAM_MEAN, i); }

STAGE(make_sinks)
{
	u32 minus_infinity = 0xff800000;

	t->sink[i] = i < t->SINKS ? (float)(12 * rand_uniform(t->seed, STREAM_SINK, i) - 3) : float_of_bits(minus_infinity);
}

STAGE(make_keys)
{
	i64 g = 4 * i / t->D % t->HKV;
	struct normals x = rand_normals(t->seed, STREAM_KEY, i);

	for (int n = 0; n < 4; n++)
		t->k[4 * i + n] = bf16_of_float(x.v[n] * (float)t->size[2 * g]);
}

STAGE(make_values)
{
	i64 d = 4 * i % t->D, g = 4 * i / t->D % t->HKV;
	struct normals x = rand_normals(t->seed, STREAM_VALUE, i);

	for (int n = 0; n < 4; n++)
		t->v[4 * i + n] = bf16_of_float((x.v[n] + (float)t->mean[g * t->D + d + n]) * (float)t->size[2 * g + 1]);
}

/* The deviation of the scores of a kind, and the score of the token that it looks for. */
FN float kind_noise(i64 kind) { return kind == 0 ? 0.25f : kind == 2 ? 3.0f : kind == 7 ? 2.0f : 1.0f; }
FN float kind_score(i64 kind) { return kind < 3 ? 0.0f : kind == 7 ? 100.0f : 9.0f; }

/* That token; it may be outside of the prompt. */
FN i64 kind_token(i64 kind, i64 i, i64 W)
{
	switch (kind) {
	case 3: return i;
	case 4: return i < W ? 0 : i - W + 1;
	case 5: return i - W;
	case 6: return i + 1;
	default: return i - i * 7 % (i < W ? i + 1 : W);
	}
}

STAGE(make_queries)
{
	i64 d = 4 * i % t->D, row = 4 * i / t->D, h = row % t->HQ, s = row / t->HQ, b = s / t->S, g = h / (t->HQ / t->HKV);
	i64 position = s % t->S, kind = (h + position / 8) % 8, token = kind_token(kind, position, t->W);
	struct normals x = rand_normals(t->seed, STREAM_QUERY, i);
	float size = (float)t->size[2 * g], scale = (float)t->scale;
	float noise = kind_noise(kind) / (scale * det_sqrtf((float)t->D) * size);
	float found = kind_score(kind) / (scale * (float)t->D * size * size);
	const bf16 *key = t->k + ((b * t->S + token) * t->HKV + g) * t->D + d;

	if (token < 0 || token >= t->S || found == 0.0f) {
		found = 0.0f;
		key = t->k;
	}
	for (int n = 0; n < 4; n++)
		t->q[4 * i + n] = bf16_of_float(x.v[n] * noise + float_of_bits((u32)key[n].code << 16) * found);
}

/* ---- outputs; row (b, h, i) has a place in p for each token that it attends to, and no others */

FN i64 least(i64 a, i64 b) { return a < b ? a : b; }
FN i64 first_token(const struct task *t, i64 i) { return i < t->W ? 0 : i - t->W + 1; }

/* Where the row of token i begins. */
FN i64 row_at(const struct task *t, i64 bh, i64 i)
{
	i64 w = least(t->S, t->W), rows = least(i, w);

	return bh * (t->S * w - w * (w - 1) / 2) + rows * (rows + 1) / 2 + (i - rows) * w;
}

STAGE(scores)
{
	i64 w = least(t->S, t->W), c = i % w, row = i / w, s = row % t->S, bh = row / t->S, token = first_token(t, s) + c;
	i64 b = bh / t->HQ, h = bh % t->HQ, g = h / (t->HQ / t->HKV);
	const bf16 *q = t->q + ((b * t->S + s) * t->HQ + h) * t->D, *k = t->k + ((b * t->S + token) * t->HKV + g) * t->D;
	double sum = 0;

	if (token > s)
		return;
	for (i64 d = 0; d < t->D; d++)
		sum += bf16_get(q[d]) * bf16_get(k[d]);
	t->p[row_at(t, bh, s) + c] = sum * t->scale;
}

STAGE(weights)
{
	i64 s = i % t->S, bh = i / t->S, count = s - first_token(t, s) + 1;
	double *p = t->p + row_at(t, bh, s), sink = (double)t->sink[bh % t->HQ], top = sink, mass;

	for (i64 c = 0; c < count; c++)
		top = fmax(top, p[c]);
	mass = exp(sink - top);
	for (i64 c = 0; c < count; c++) {
		p[c] = exp(p[c] - top);
		mass += p[c];
	}
	t->mass[i] = mass;
	t->ref_lse[i] = top + log(mass);
}

STAGE(output)
{
	i64 d = i % t->D, h = i / t->D % t->HQ, row = i / t->D / t->HQ, b = row / t->S, s = row % t->S;
	i64 g = h / (t->HQ / t->HKV), bh = b * t->HQ + h, first = first_token(t, s), count = s - first + 1;
	const double *p = t->p + row_at(t, bh, s);
	const bf16 *v = t->v + ((b * t->S + first) * t->HKV + g) * t->D + d;
	double sum = 0;

	for (i64 c = 0; c < count; c++)
		sum += p[c] * bf16_get(v[c * t->HKV * t->D]);
	t->ref_o[i] = sum / t->mass[bh * t->S + s];
}
