/* Routing by biased sigmoid scores, groups first, and the stable order of all choices by expert; in double.
 *
 * The biased scores of a row lie on a lattice of steps of 16 UNIT, each expert of the row in a residue class of its
 * own, shifted by its group times UNIT. So two experts differ by at least 9 UNIT, and the sums of two of different
 * groups by at least 2 UNIT: no decision hangs on rounding. Within its class a score is what a normal logit says, with
 * a size that depends on the row (flat or peaked) and a popularity of the expert. */
#include "oracle.h"

#define UNIT 6e-6
#define STEPS 16
#define BLOCK 1024

enum { STREAM_LOGIT = 1, STREAM_BIAS, STREAM_POPULAR, STREAM_ROW, STREAM_SCALE };

FN double clamp(double x, double bound) { return x < -bound ? -bound : x > bound ? bound : x; }
FN double pow2(i64 n) { return of_bits((u64)(n + 1023) << 52); }

/* ---- inputs */

/* Of either sign; with eight groups well below zero, so that many c are negative. */
STAGE(make_bias)
{
	double spread = pow2(rand_below(t->seed, STREAM_SCALE, 1, 3) - 6);
	double centre = (double)(rand_below(t->seed, STREAM_SCALE, 0, 5) - 3) * 0.25;

	if (t->G >= 8)
		centre = -0.5 - (double)rand_below(t->seed, STREAM_SCALE, 0, 3) * 0.125;

	t->bias[i] = (float)clamp(centre + spread * rand_normal(t->seed, STREAM_BIAS, i), 0.98);
}

/* One in 16 is hardly ever chosen, one in 16 by very many. */
STAGE(make_popular)
{
	i64 kind = (rand_below(t->seed, STREAM_POPULAR, 0, 16) + i * 5) % 16;

	t->popular[i] = kind == 0 ? -12 : kind == 1 ? 1.25 : 0.5 * rand_normal(t->seed, STREAM_POPULAR, i + 1);
}

/* Size, mean, and the order of the residue classes: a rotation of multiples of 1, 7, 11 or 13, none a divisor of E. */
STAGE(make_rows)
{
	i64 kind = rand_below(t->seed, STREAM_ROW, 2 * i, 8);
	i64 pick = rand_below(t->seed, STREAM_ROW, 2 * i + 1, 4 * t->E);
	double size = pow2(rand_below(t->seed, STREAM_SCALE, 2, 3) - 2);

	t->row[4 * i] = kind == 0 ? size / 8 : kind == 1 ? size * 4 : size;
	t->row[4 * i + 1] = (double)(kind - 4) * 0.25;
	t->row[4 * i + 2] = (double)(pick / t->E == 0 ? 1 : 5 + 2 * (pick / t->E) + (pick / t->E > 1) * 2);
	t->row[4 * i + 3] = (double)(pick % t->E);
}

/* Four neighbours of one row. */
STAGE(make_logits)
{
	i64 at = 4 * i, r = at / t->E;
	int E = (int)t->E, e = (int)(at % t->E), share = E / (int)t->G;
	int multiple = (int)t->row[4 * r + 2], shift = (int)t->row[4 * r + 3];
	float size = (float)t->row[4 * r], mean = (float)t->row[4 * r + 1];
	double step = STEPS * UNIT, width = E * step;
	struct normals x = rand_normals(t->seed, STREAM_LOGIT, i);

	for (int k = 0; k < 4; k++, e++) {
		float v = size * (x.v[k] + (float)t->popular[e]) + mean;
		double like = 0.5 + 0.5 * (double)(v / det_sqrtf(2.0f + v * v)), bias = (double)t->bias[e];
		int cell = (int)((like + bias + 2) / width) - (int)(2 / width);
		double c = (double)(cell * E + (e * multiple + shift) % E) * step + (double)(e / share) * UNIT;
		double s = c - bias;

		while (s < 0.002)
			s += width;
		while (s > 0.998)
			s -= width;
		t->logits[at + k] = det_logf((float)s) - det_logf((float)(1 - s));
	}
}

/* ---- oracle */

FN double score(double logit) { return 1 / (1 + exp(-logit)); }

STAGE(scores) { t->c[i] = score(t->logits[i]) + t->bias[i % t->E]; }

FN double group_score(const double *c, i64 n)
{
	double first = -1e300, second = -1e300;

	for (i64 e = 0; e < n; e++) {
		if (c[e] > first) {
			second = first;
			first = c[e];
		} else if (c[e] > second) {
			second = c[e];
		}
	}
	return first + second;
}

/* Strikes out what cannot be chosen, then takes the largest K times. */
STAGE(choose)
{
	i64 groups = (i64)t->G, kept = (i64)t->TG, share = t->E / groups;
	double *c = t->c + i * t->E, sums[64], total = 0;

	for (i64 g = 0; g < groups; g++)
		sums[g] = groups > 1 ? group_score(c + g * share, share) : 0;
	for (i64 g = 0; g < groups; g++) {
		i64 better = 0;

		for (i64 h = 0; h < groups; h++)
			better += sums[h] > sums[g] || (sums[h] == sums[g] && h < g);
		if (better >= kept)
			for (i64 e = g * share; e < (g + 1) * share; e++)
				c[e] = -1e300;
	}
	for (i64 k = 0; k < t->K; k++) {
		i64 best = 0;

		for (i64 e = 1; e < t->E; e++)
			if (c[e] > c[best])
				best = e;
		c[best] = -1e301;
		t->ref_ids[i * t->K + k] = (double)best;
		total += score(t->logits[i * t->E + best]);
	}
	for (i64 k = 0; k < t->K; k++) {
		i64 e = (i64)t->ref_ids[i * t->K + k];

		t->ref_w[i * t->K + k] = t->rsf * score(t->logits[i * t->E + e]) / total;
	}
}

FN i64 block_end(const struct task *t, i64 block)
{
	i64 end = (block + 1) * BLOCK;

	return (end < t->T ? end : t->T) * t->K;
}

STAGE(count_pairs)
{
	i64 block = i / t->E, end = block_end(t, block);
	double e = (double)(i % t->E), n = 0;

	for (i64 p = block * BLOCK * t->K; p < end; p++)
		n += t->ref_ids[p] == e;
	t->tally[i] = n;
}

STAGE(totals)
{
	double n = 0;

	for (i64 k = i; k < (t->T + BLOCK - 1) / BLOCK * t->E; k += t->E)
		n += t->tally[k];
	t->ref_count[i] = n;
}

STAGE(offsets)
{
	double n = 0;

	for (i64 e = 0; e < i; e++)
		n += t->ref_count[e];
	t->ref_offset[i] = n;
}

STAGE(place)
{
	i64 block = i / t->E, e = i % t->E, end = block_end(t, block), at = (i64)t->ref_offset[e];

	for (i64 b = 0; b < block; b++)
		at += (i64)t->tally[b * t->E + e];
	for (i64 p = block * BLOCK * t->K; p < end; p++)
		if (t->ref_ids[p] == (double)e)
			t->ref_perm[at++] = (double)p;
}
