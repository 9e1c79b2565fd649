/* Norm, rotary embedding and cache write, in double.
 *
 * Tokens are cut into about seventeen requests of uneven lengths; each begins at a position of its own, and has pages
 * of its own, in which the position decides the place. Pages and skipped tokens come from pseudo-random permutations.
 * What no token owns holds arbitrary finite codes. */
#include "oracle.h"

#define PAGE 16
#define OUTLIER(d) ((d) % 32 == 5)

enum { STREAM_SIZE = 1, STREAM_HEAD, STREAM_ROW, STREAM_QKV, STREAM_WQ, STREAM_WK, STREAM_CUT, STREAM_START,
	STREAM_SCALE, STREAM_K, STREAM_V, STREAM_PAGE, STREAM_SKIP = STREAM_PAGE + 4 };	/* the last two take four each */

FN double pow2(i64 n) { return of_bits((u64)(n + 1023) << 52); }

/* ---- inputs */

/* The size of a token's head. One in sixteen of the rows is so faint that its mean square is about eps, one in 64 is
 * zero. */
STAGE(make_rows)
{
	i64 heads = t->HQ + 2 * t->HKV, head = i % heads;
	u32 r = rand_u32(t->seed, STREAM_ROW, i);
	double size = pow2(rand_below(t->seed, STREAM_SIZE, 0, 4) - 1);

	size *= pow2(rand_below(t->seed, STREAM_HEAD, head, 5) - 2) * (0.75 + (double)(r >> 20) / 8192);
	if (r % 64 == 1)
		size = 0;
	else if (r % 16 == 2)
		size = pow2(-(i64)(r >> 8 & 3) - 8);
	t->row[i] = size;
}

/* Turns for one step of the position; the base is 2^13 to 2^20. */
STAGE(make_turns)
{
	double base = 13 + 7 * rand_uniform(t->seed, STREAM_SIZE, 1);

	t->turns[i] = det_exp2(-base * (double)i / (double)(t->D / 2)) * 0.15915494309189535;
}

/* Four neighbours of a head. */
STAGE(make_qkv)
{
	i64 row = 4 * i / t->D, d = 4 * i % t->D, head = row % (t->HQ + 2 * t->HKV);
	float size = (float)t->row[row];
	struct normals x = rand_normals(t->seed, STREAM_QKV, i);

	for (int k = 0; k < 4; k++) {
		float large = OUTLIER(d + k) && head < t->HQ + t->HKV ? 4.0f : 1.0f;

		t->qkv[4 * i + k] = bf16_of_float(x.v[k] * size * large);
	}
}

FN double weight_size(const struct task *t, i64 key) { return pow2(rand_below(t->seed, STREAM_SIZE, 2 + key, 4) - 1); }

STAGE(make_weights)
{
	double large = i % 16 == 3 ? 3 : 1;

	t->wq[i] = bf16_put((1 + 0.25 * rand_normal(t->seed, STREAM_WQ, i)) * large * weight_size(t, 0));
	t->wk[i] = bf16_put((1 + 0.25 * rand_normal(t->seed, STREAM_WK, i)) * large * weight_size(t, 1));
}

/* A cosine and its sine, times a factor of 1 to 1.25 for half of the seeds. */
STAGE(make_table)
{
	i64 half = t->D / 2, j = i % half, position = i / half;
	double turn = (double)position * t->turns[j], stretch = rand_uniform(t->seed, STREAM_SIZE, 4);
	double factor = stretch < 0.5 ? 1 : 0.75 + 0.5 * stretch;

	t->cos_sin[position * t->D + j] = (float)(det_cos2pi(turn) * factor);
	t->cos_sin[position * t->D + half + j] = (float)(det_sin2pi(turn) * factor);
}

/* A permutation of 0 .. n-1: four Feistel rounds on an even number of bits, walked until the result is in range. */
FN i64 shuffled(const struct task *t, u32 stream, i64 x, i64 n)
{
	int half = 1;

	while ((i64)1 << 2 * half < n)
		half++;
	u32 mask = (1u << half) - 1;
	do {
		u32 l = (u32)(x >> half), r = (u32)x & mask;

		for (u32 k = 0; k < 4; k++) {
			u32 next = l ^ (rand_u32(t->seed, stream + k, r) & mask);

			l = r;
			r = next;
		}
		x = (i64)l << half | r;
	} while (x >= n);
	return x;
}

/* Requests begin at 0 and once in each of the spans of this many tokens. */
FN i64 span(const struct task *t) { return t->T / 16 > 8 ? t->T / 16 : 8; }

FN i64 first_token(const struct task *t, i64 request)
{
	return request ? (request - 1) * span(t) + 1 + rand_below(t->seed, STREAM_CUT, request, span(t) - 1) : 0;
}

/* Pages of a request: one for each whole page of tokens before it, and two for each request before it, are enough to
 * keep it apart. NB must be at least T/16 + 40. */
STAGE(make_tokens)
{
	i64 request = i / span(t) + (i >= first_token(t, i / span(t) + 1)), first = first_token(t, request);
	i64 start = rand_below(t->seed, STREAM_START, 2 * request, t->MAXPOS - 2 * span(t));

	if (rand_below(t->seed, STREAM_START, 2 * request + 1, 3) == 0)
		start = 0;
	i64 place = i - first + start % PAGE, page = first / PAGE + 2 * request + place / PAGE;
	t->positions[i] = (i32)(start + i - first);
	t->slots[i] = (i32)(shuffled(t, STREAM_PAGE, page, t->NB) * PAGE + place % PAGE);
	if (shuffled(t, STREAM_SKIP, i, t->T) < t->SKIP)
		t->slots[i] = -1;
}

STAGE(make_scales)
{
	double size = pow2(rand_below(t->seed, STREAM_SIZE, 0, 4) - 1);

	t->k_scale[i] = (float)(weight_size(t, 1) * pow2(rand_below(t->seed, STREAM_SCALE, 0, 3) - 5)
		* (1.01 + 0.97 * rand_uniform(t->seed, STREAM_SCALE, 1)));
	t->v_scale[i] = (float)(size * pow2(rand_below(t->seed, STREAM_SCALE, 2, 3) - 5)
		* (1.01 + 0.97 * rand_uniform(t->seed, STREAM_SCALE, 3)));
}

FN u8 finite_code(u32 r) { return (u8)((r & 127) == 127 ? r ^ 1 : r); }

STAGE(make_stale)
{
	struct philox k = philox(t->seed, STREAM_K, (u64)i), v = philox(t->seed, STREAM_V, (u64)i);

	for (int b = 0; b < 16; b++) {
		t->k_cache[16 * i + b].code = finite_code(k.v[b / 4] >> 8 * (b % 4) & 255);
		t->v_cache[16 * i + b].code = finite_code(v.v[b / 4] >> 8 * (b % 4) & 255);
	}
}

/* ---- outputs; of the heads of a token, queries come first, then keys, then values */

FN double x_at(const struct task *t, i64 token, i64 head, i64 d)
{
	return bf16_get(t->qkv[(token * (t->HQ + 2 * t->HKV) + head) * t->D + d]);
}

STAGE(norms)
{
	i64 head = i % (t->HQ + t->HKV), token = i / (t->HQ + t->HKV);
	double sum = 0;

	for (i64 d = 0; d < t->D; d++) {
		double x = x_at(t, token, head, d);

		sum += x * x;
	}
	t->inverse[i] = 1 / sqrt(sum / (double)t->D + t->eps);
}

/* Element d of a query or key head, normalised and rotated. */
FN double rotated(const struct task *t, i64 token, i64 head, i64 d)
{
	i64 half = t->D / 2, j = d % half;
	const bf16 *w = head < t->HQ ? t->wq : t->wk;
	const float *table = t->cos_sin + (i64)t->positions[token] * t->D;
	double low = x_at(t, token, head, j) * bf16_get(w[j]), high = x_at(t, token, head, half + j) * bf16_get(w[half + j]);
	double c = (double)table[j], s = (double)table[half + j];

	return (d < half ? low * c - high * s : high * c + low * s) * t->inverse[token * (t->HQ + t->HKV) + head];
}

STAGE(queries)
{
	i64 row = i / t->D;

	t->ref_q[i] = rotated(t, row / t->HQ, row % t->HQ, i % t->D);
}

STAGE(keep)
{
	t->ref_k_cache[i] = e4m3_get(t->k_cache[i]);
	t->ref_v_cache[i] = e4m3_get(t->v_cache[i]);
}

STAGE(fill)
{
	i64 d = i % t->D, g = i / t->D % t->HKV, token = i / t->D / t->HKV;

	if (t->slots[token] < 0)
		return;
	i64 at = ((i64)t->slots[token] * t->HKV + g) * t->D + d;
	t->ref_k_cache[at] = rotated(t, token, t->HQ + g, d) / (double)t->k_scale[0];
	t->ref_v_cache[at] = x_at(t, token, t->HQ + t->HKV + g, d) / (double)t->v_scale[0];
}
