/* Decode attention over a paged fp8 cache, in double.
 *
 * Lengths come in pairs that add up to LMIN + LMAX, so their sum does not depend on the seed; they lean towards both
 * ends, and the requests are in shuffled order. Pages are a pseudo-random permutation of the cache's. Whatever no
 * token owns is stale: large finite codes. Each head has a token that its query finds (the first and last ones
 * of the sequence among them); how sharply depends on the head, from nearly flat attention to one token taking all. */
#include "oracle.h"

#define PAGE 16
#define CHUNK 512

enum { STREAM_LENGTH = 1, STREAM_ORDER, STREAM_SCALE, STREAM_SHARP, STREAM_QUERY, STREAM_STALE, STREAM_TOKEN,
	STREAM_MEAN, STREAM_NEEDLE, STREAM_PAGE };	/* the last takes four */

FN double pow2(i64 n) { return of_bits((u64)(n + 1023) << 52); }

/* Roughly standard normal, from 32 random bits: the sum of four bytes. */
FN float rough_normal(u32 r)
{
	return ((float)((r & 255) + (r >> 8 & 255) + (r >> 16 & 255) + (r >> 24)) - 510.0f) * (1 / 147.8f);
}

/* ---- inputs */

FN i64 length_of_rank(const struct task *t, i64 r)
{
	i64 mirror = t->B - 1 - r, pair = r < mirror ? r : mirror;
	double u = pair ? ((double)pair + rand_uniform(t->seed, STREAM_LENGTH, pair)) / (double)(t->B / 2) : 0;
	i64 shorter = t->LMIN + (i64)((double)(t->LMAX - t->LMIN) / 2 * u * u);

	if (r == mirror)
		return (t->LMIN + t->LMAX) / 2;
	return r < mirror ? shorter : t->LMIN + t->LMAX - shorter;
}

STAGE(make_lengths)
{
	u64 own = rand_u64(t->seed, STREAM_ORDER, i);
	i64 rank = 0;

	for (i64 j = 0; j < t->B; j++) {
		u64 key = rand_u64(t->seed, STREAM_ORDER, j);

		rank += key < own || (key == own && j < i);
	}
	t->seq_lens[i] = (i32)length_of_rank(t, rank);
}

/* A permutation of 0 .. NB-1 (NB must be at least the pages in use, so that x is below it): four Feistel rounds on an
 * even number of bits, walked until the result is in range. */
FN i64 shuffled_page(const struct task *t, i64 x)
{
	int half = 1;

	while ((i64)1 << 2 * half < t->NB)
		half++;
	u32 mask = (1u << half) - 1;
	do {
		u32 l = (u32)(x >> half), r = (u32)x & mask;

		for (u32 k = 0; k < 4; k++) {
			u32 next = l ^ (rand_u32(t->seed, STREAM_PAGE + k, r) & mask);

			l = r;
			r = next;
		}
		x = (i64)l << half | r;
	} while (x >= t->NB);
	return x;
}

FN i64 pages_of(const struct task *t, i64 b) { return (t->seq_lens[b] + PAGE - 1) / PAGE; }

STAGE(make_table)
{
	i64 b = i / t->MAXB, p = i % t->MAXB, before = 0;

	for (i64 j = 0; j < b; j++)
		before += pages_of(t, j);
	t->block_table[i] = p < pages_of(t, b) ? (i32)shuffled_page(t, before + p) : -1;
}

/* Of a key-value head: size of the codes, and of the numbers they stand for. */
FN double code_size(const struct task *t, i64 g, int value)
{
	return pow2(rand_below(t->seed, STREAM_SCALE, 4 * g + value, 3) + 3);
}
FN double real_size(const struct task *t, i64 g, int value)
{
	return pow2(rand_below(t->seed, STREAM_SCALE, 4 * g + 2 + value, 5) - 2) * (1 + 0.125 * (double)(g % 5));
}

STAGE(make_scales)
{
	t->code[2 * i] = code_size(t, i, 0);
	t->code[2 * i + 1] = code_size(t, i, 1);
	t->k_scale[i] = (float)(real_size(t, i, 0) / t->code[2 * i]);
	t->v_scale[i] = (float)(real_size(t, i, 1) / t->code[2 * i + 1]);
}

STAGE(make_means) { t->mean[i] = 0.5 * (double)rough_normal(rand_u32(t->seed, STREAM_MEAN, i)); }

STAGE(make_query)
{
	i64 bh = i / t->D, h = bh % t->HQ, g = h / (t->HQ / t->HKV);
	double sharp = pow2(rand_below(t->seed, STREAM_SHARP, bh, 5) - 3);	/* 1/8 to 2 */

	t->q[i] = bf16_put(rand_normal(t->seed, STREAM_QUERY, i) * sharp / real_size(t, g, 0));
}

/* 32 to 448, either sign: large, so that a kernel that lets them in is seen to. */
FN u8 stale_code(u32 r)
{
	r |= 0x60;
	return (u8)((r & 127) == 127 ? r ^ 1 : r);
}

STAGE(make_stale)
{
	struct philox r = philox(t->seed, STREAM_STALE, (u64)i);

	for (int k = 0; k < 8; k++) {
		t->k_cache[8 * i + k].code = stale_code(r.v[k / 4] >> 8 * (k % 4) & 255);
		t->v_cache[8 * i + k].code = stale_code(r.v[2 + k / 4] >> 8 * (k % 4) & 255);
	}
}

FN i64 cache_at(const struct task *t, i64 b, i64 token, i64 g, i64 d)
{
	i64 page = t->block_table[b * t->MAXB + token / PAGE];

	return ((page * PAGE + token % PAGE) * t->HKV + g) * t->D + d;
}

/* A channel of a page. */
STAGE(make_tokens)
{
	i64 d = i % t->D, g = i / t->D % t->HKV, slot = i / t->D / t->HKV;
	i64 begin = slot % t->MAXB * PAGE, b = slot / t->MAXB, n = t->seq_lens[b];

	if (begin >= n)
		return;
	i64 at = cache_at(t, b, begin, g, d), end = begin + PAGE < n ? begin + PAGE : n;
	float k_size = (float)t->code[2 * g] * (d % 32 == 5 ? 4.0f : 1.0f);	/* keys have outlier channels */
	float v_size = (float)t->code[2 * g + 1], mean = (float)t->mean[g * t->D + d];
	struct philox r;

	for (i64 token = begin; token < end; token++, at += t->HKV * t->D) {
		int odd = token & 1;

		if (!odd)	/* a page begins with an even one */
			r = philox(t->seed, STREAM_TOKEN,
				   (u64)(((b * t->MAXB * PAGE + token) * t->HKV + g) * t->D + d));
		t->k_cache[at] = e4m3_of_float(rough_normal(odd ? r.v[2] : r.v[0]) * k_size);
		t->v_cache[at] = e4m3_of_float((rough_normal(odd ? r.v[3] : r.v[1]) + mean) * v_size);
	}
}

/* The token that head r of its group looks for: one in each G-th of the sequence, the very first and the very last
 * for the first and the last head. */
FN i64 needle(const struct task *t, i64 b, i64 g, i64 r)
{
	i64 G = t->HQ / t->HKV, n = t->seq_lens[b];

	if (r == 0)
		return 0;
	if (r == G - 1)
		return n - 1;
	return (i64)(((double)r + rand_uniform(t->seed, STREAM_NEEDLE, (b * t->HKV + g) * G + r)) * (double)n / (double)G);
}

STAGE(make_needles)
{
	i64 d = i % t->D, h = i / t->D % t->HQ, b = i / t->D / t->HQ, G = t->HQ / t->HKV, g = h / G, r = h % G;
	i64 token = needle(t, b, g, r);

	if (r + 1 < G && needle(t, b, g, r + 1) == token)	/* a short sequence: the later head has it */
		return;
	t->k_cache[cache_at(t, b, token, g, d)] = e4m3_put(rand_normal(t->seed, STREAM_QUERY, i) * t->code[2 * g]);
}

/* ---- outputs; token T of row (b, h) is p[row * MAXB * PAGE + T], and a row is cut into chunks of CHUNK tokens */

FN i64 chunks(const struct task *t) { return (t->MAXB * PAGE + CHUNK - 1) / CHUNK; }
FN i64 chunk_end(i64 begin, i64 n) { return begin + CHUNK < n ? begin + CHUNK : n; }

STAGE(scores)
{
	i64 token = i % (t->MAXB * PAGE), row = i / (t->MAXB * PAGE), b = row / t->HQ, g = row % t->HQ / (t->HQ / t->HKV);
	double sum = 0;

	if (token >= t->seq_lens[b])
		return;
	i64 at = cache_at(t, b, token, g, 0);
	for (i64 d = 0; d < t->D; d++)
		sum += bf16_get(t->q[row * t->D + d]) * e4m3_get(t->k_cache[at + d]);
	t->p[i] = sum * t->scale * (double)t->k_scale[g];
}

STAGE(chunk_tops)
{
	i64 row = i / chunks(t), begin = i % chunks(t) * CHUNK, end = chunk_end(begin, t->seq_lens[row / t->HQ]);
	double top = -1e300;

	for (i64 k = begin; k < end; k++)
		top = fmax(top, t->p[row * t->MAXB * PAGE + k]);
	t->top[i] = top;
}

STAGE(weights)
{
	i64 row = i / chunks(t), begin = i % chunks(t) * CHUNK, end = chunk_end(begin, t->seq_lens[row / t->HQ]);
	double top = -1e300, mass = 0;

	for (i64 c = 0; c < chunks(t); c++)
		top = fmax(top, t->top[row * chunks(t) + c]);
	for (i64 k = begin; k < end; k++) {
		double p = exp(t->p[row * t->MAXB * PAGE + k] - top);

		t->p[row * t->MAXB * PAGE + k] = p;
		mass += p;
	}
	t->mass[i] = mass;
}

STAGE(chunk_values)
{
	i64 d = i % t->D, c = i / t->D % chunks(t), row = i / t->D / chunks(t), h = row % t->HQ, b = row / t->HQ;
	i64 begin = c * CHUNK, end = chunk_end(begin, t->seq_lens[b]), g = h / (t->HQ / t->HKV);
	double sum = 0;

	for (i64 k = begin; k < end; k++)
		sum += t->p[row * t->MAXB * PAGE + k] * e4m3_get(t->v_cache[cache_at(t, b, k, g, d)]);
	t->part[i] = sum;
}

STAGE(output)
{
	i64 d = i % t->D, row = i / t->D, g = row % t->HQ / (t->HQ / t->HKV);
	double sum = 0, mass = 0;

	for (i64 c = 0; c < chunks(t); c++) {
		sum += t->part[(row * chunks(t) + c) * t->D + d];
		mass += t->mass[row * chunks(t) + c];
	}
	t->ref_o[i] = sum / mass * (double)t->v_scale[g];
}
