/* The indices of each row's 2048 largest scores, ties to the lower index, in order of index.
 *
 * Scores look like those of an indexer: a part of their own and one that neighbours share, in rows of different scale
 * and shape; some rows lie on a bf16 grid or a coarse one, some are cut off at zero, so that there are ties of all
 * sizes. What lies behind the end of a row is stale: large, so that a kernel that lets it in is seen to. Lengths of a
 * batch that is not causal come in pairs that add up to LMIN + LMAX, so that their sum does not depend on the seed.
 *
 * The oracle finds the threshold by its bits, eight at a time, over pieces of 1024 scores. */
#include "oracle.h"

#define KEEP 2048
#define PIECE 1024
#define NEAR 128

enum { STREAM_LENGTH = 1, STREAM_ORDER, STREAM_KIND, STREAM_SIZE, STREAM_BUMP, STREAM_SCORE };
enum { NORMAL, TAILED, NARROW, CUT, BF16_GRID, COARSE };

FN double pow2(i64 n) { return of_bits((u64)(n + 1023) << 52); }

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
	if (t->CAUSAL) {
		t->lens[i] = (i32)(t->LMIN + i);
		return;
	}
	u64 own = rand_u64(t->seed, STREAM_ORDER, i);
	i64 rank = 0;

	for (i64 j = 0; j < t->B; j++) {
		u64 key = rand_u64(t->seed, STREAM_ORDER, j);

		rank += key < own || (key == own && j < i);
	}
	t->lens[i] = (i32)length_of_rank(t, rank);
}

/* Kind, size, mean in sizes, share of the neighbours' part. The first rows show one kind each, whatever the batch. */
STAGE(make_rows)
{
	i64 draw = (rand_below(t->seed, STREAM_KIND, 0, 24) + i * 5) % 24;
	int kind = draw < 8 ? NORMAL : draw < 12 ? TAILED : draw < 15 ? NARROW : draw < 18 ? CUT
		: draw < 23 ? BF16_GRID : COARSE;
	double mean = rand_uniform(t->seed, STREAM_KIND, i + 1) * 2 - 1;

	t->row[4 * i] = kind;
	t->row[4 * i + 1] = pow2(rand_below(t->seed, STREAM_SIZE, 0, 9) - 4 + rand_below(t->seed, STREAM_SIZE, i + 1, 5) - 2);
	t->row[4 * i + 2] = kind == NARROW ? mean * 40 : kind == CUT ? mean * 0.5 - 0.5 : mean;
	t->row[4 * i + 3] = 0.5 * rand_uniform(t->seed, STREAM_SIZE, t->B + 1 + i);
}

STAGE(make_bumps)
{
	i64 per_row = (t->N + NEAR - 1) / NEAR;

	t->bump[i] = t->row[4 * (i / per_row) + 3] * rand_normal(t->seed, STREAM_BUMP, i) + t->row[4 * (i / per_row) + 2];
}

FN float shaped(int kind, float x)
{
	switch (kind) {
	case TAILED: return x > 0 ? x * (1 + x * x * 0.25f) : x;
	case CUT: return x > 0 ? x : 0;
	case BF16_GRID: return (float)bf16_get(bf16_of_float(x));
	case COARSE: return (float)(int)(x * 4.0f + 1024.0f) * 0.25f - 256.0f;	/* multiples of 1/4 */
	default: return x;
	}
}

/* Four neighbours, perhaps of two rows or three. */
STAGE(make_scores)
{
	i64 b = 4 * i / t->N, c = 4 * i % t->N, per_row = (t->N + NEAR - 1) / NEAR;
	struct normals x = rand_normals(t->seed, STREAM_SCORE, i);

	for (int k = 0; k < 4 && b < t->B; k++) {
		float size = (float)t->row[4 * b + 1], v;

		if (c < t->lens[b])
			v = shaped((int)t->row[4 * b], x.v[k] + (float)t->bump[b * per_row + c / NEAR]) * size;
		else
			v = (x.v[k] + 1.0f) * size * 4096.0f;
		t->score[b * t->N + c] = v == 0 ? 0 : v;	/* no -0.0 */
		if (++c == t->N) {
			c = 0;
			b++;
		}
	}
}

/* ---- oracle */

/* An unsigned number that is ordered as the score is. */
FN u32 key_at(const struct task *t, i64 b, i64 c)
{
	u32 u = bits_of_float(t->score[b * t->N + c]);

	return u >> 31 ? ~u : u | 0x80000000u;
}

FN i64 pieces(const struct task *t) { return (t->N + PIECE - 1) / PIECE; }

FN i64 piece_end(const struct task *t, i64 b, i64 p)
{
	i64 end = (p + 1) * PIECE, n = t->lens[b];

	return end < n ? end : n;
}

STAGE(start)
{
	t->prefix[i] = 0;
	t->need[i] = t->lens[i] < KEEP ? t->lens[i] : KEEP;
}

/* How often each value of the digit stands behind the prefix that is already known. */
FN void count_digit(const struct task *t, i64 i, int digit)
{
	i64 b = i / pieces(t), p = i % pieces(t), end = piece_end(t, b, p);
	u64 prefix = (u64)t->prefix[b];
	double *bins = t->bins + i * 256;

	for (int d = 0; d < 256; d++)
		bins[d] = 0;
	for (i64 c = p * PIECE; c < end; c++) {
		u64 key = key_at(t, b, c);

		if (key >> 8 * (digit + 1) == prefix)
			bins[key >> 8 * digit & 255]++;
	}
}

STAGE(count_digit3) { count_digit(t, i, 3); }
STAGE(count_digit2) { count_digit(t, i, 2); }
STAGE(count_digit1) { count_digit(t, i, 1); }
STAGE(count_digit0) { count_digit(t, i, 0); }

STAGE(sum_digits)
{
	i64 b = i / 256, d = i % 256;
	double sum = 0;

	for (i64 p = 0; p < pieces(t); p++)
		sum += t->bins[(b * pieces(t) + p) * 256 + d];
	t->sums[i] = sum;
}

/* The digit of the last winner; what lies above it wins. */
STAGE(choose_digit)
{
	const double *sums = t->sums + i * 256;
	double need = t->need[i];
	int d = 255;

	while (d > 0 && sums[d] < need)
		need -= sums[d--];
	t->prefix[i] = t->prefix[i] * 256 + d;
	t->need[i] = need;
}

/* Now the prefix is the whole key of the last winner, and need is how many that are equal to it win. */
STAGE(count_winners)
{
	i64 b = i / pieces(t), p = i % pieces(t), end = piece_end(t, b, p);
	u32 last = (u32)t->prefix[b];
	double above = 0, equal = 0;

	for (i64 c = p * PIECE; c < end; c++) {
		u32 key = key_at(t, b, c);

		above += key > last;
		equal += key == last;
	}
	t->above[i] = above;
	t->equal[i] = equal;
}

STAGE(place_winners)
{
	double first = 0, ties = t->need[i];

	for (i64 p = i * pieces(t); p < (i + 1) * pieces(t); p++) {
		double taken = t->equal[p] < ties ? t->equal[p] : ties;

		t->first[p] = first;
		t->ties[p] = taken;
		first += t->above[p] + taken;
		ties -= taken;
	}
}

STAGE(write_winners)
{
	i64 b = i / pieces(t), p = i % pieces(t), end = piece_end(t, b, p), at = b * KEEP + (i64)t->first[i];
	double ties = t->ties[i];
	u32 last = (u32)t->prefix[b];

	for (i64 c = p * PIECE; c < end; c++) {
		u32 key = key_at(t, b, c);
		int tie = key == last && ties > 0;

		ties -= tie;
		if (key > last || tie)
			t->ref_idx[at++] = (double)c;
	}
}

STAGE(pad)
{
	if (i % KEEP >= t->lens[i / KEEP])
		t->ref_idx[i] = -1;
}
