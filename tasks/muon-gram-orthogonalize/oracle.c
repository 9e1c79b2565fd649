/* Muon's orthogonalisation in double precision.
 *
 * The text applies X <- (a I + b A + c A^2) X, A = X X^T, five times. Every step's factor is a polynomial of the first
 * A, so it commutes with all others, and the chain can be walked on the n x n side (n the short side):
 *     Q = a I + b A + c A^2,   next A = Q A Q,   product of all factors P <- P Q,   result P X.
 * In exact arithmetic that is the text; in double the two differ by less than 1e-12 (relative, measured on the inputs
 * made here). It takes 17 products of n x n and two with the long side, about half the arithmetic of the text at the
 * scored shapes. The products stand in task.json; here is what lies between them.
 */
#include "oracle.h"

FN i64 short_side(const struct task *t) { return t->R < t->C ? t->R : t->C; }
FN i64 long_side(const struct task *t) { return t->R < t->C ? t->C : t->R; }

/* Where element i of X [B, short, long] lies in G and O [B, R, C]. */
FN i64 place(const struct task *t, i64 i)
{
	i64 m = long_side(t), n = short_side(t), b = i / (n * m), s = i / m % n, l = i % m;

	return t->R <= t->C ? i : (b * t->R + l) * t->C + s;
}

/* ---- inputs: four shared directions that fade by halves and carry 0.6 of the energy, and noise whose short-side
 * vectors have sizes between 1 and 1/32; each matrix at a scale of its own */

enum { RANK = 4 };

STAGE(make_short)
{
	double noise_rms = 0.37964274772647705;	/* of 2^(-5u), u uniform: sqrt((1 - 2^-10) / (10 ln 2)) */
	double share = 0.6 * 8 / 15;

	t->scale[i] = det_sqrt(0.4) / noise_rms * det_exp2(-5 * rand_uniform(t->seed, 1, i));
	for (int k = 0; k < RANK; k++, share /= 2)
		t->left[RANK * i + k] = det_sqrt(share) * rand_normal(t->seed, 2, RANK * i + k);
}

STAGE(make_long)
{
	for (int k = 0; k < RANK; k++)
		t->right[RANK * i + k] = rand_normal(t->seed, 3, RANK * i + k);
}

STAGE(make_sizes) { t->size[i] = det_exp2(16 * rand_uniform(t->seed, 5, i) - 12); }

/* Without its size: row r, column c of matrix b, with that noise. */
FN double element(const struct task *t, i64 b, i64 r, i64 c, float noise)
{
	i64 s = b * short_side(t) + (t->R <= t->C ? r : c), l = b * long_side(t) + (t->R <= t->C ? c : r);
	double value = t->scale[s] * (double)noise;

	for (int k = 0; k < RANK; k++)
		value += t->left[RANK * s + k] * t->right[RANK * l + k];
	return value;
}

/* Four neighbours of a row; C is a multiple of four. */
STAGE(make_G)
{
	i64 row = 4 * i / t->C, b = row / t->R, r = row % t->R, c = 4 * i % t->C;
	struct normals noise = rand_normals(t->seed, 4, i);

	for (int k = 0; k < 4; k++)
		t->G[4 * i + k] = bf16_of_float((float)(element(t, b, r, c + k, noise.v[k]) * t->size[b]));
}

/* ---- the operator */

STAGE(sum_rows)
{
	double sum = 0;

	for (i64 c = 0; c < t->C; c++) {
		double x = bf16_get(t->G[i * t->C + c]);

		sum += x * x;
	}
	t->rowsq[i] = sum;
}

STAGE(norm)
{
	double sum = 0;

	for (i64 r = 0; r < t->R; r++)
		sum += t->rowsq[i * t->R + r];
	t->inv[i] = 1 / (det_sqrt(sum) + 1e-7);
}

STAGE(normalise) { t->X[i] = bf16_get(t->G[place(t, i)]) * t->inv[i / (t->R * t->C)]; }

/* Element i of a I + b A + c S, where S is A squared. */
FN double factor(const struct task *t, i64 i, double a, double b, double c)
{
	i64 n = short_side(t);

	return (i / n % n == i % n ? a : 0) + b * t->A[i] + c * t->S[i];
}

STAGE(step1) { t->P[i] = factor(t, i, 4.0848, -6.8946, 2.9270); }
STAGE(step2) { t->Q[i] = factor(t, i, 3.9505, -6.3029, 2.6377); }
STAGE(step3) { t->Q[i] = factor(t, i, 3.7418, -5.5913, 2.3037); }
STAGE(step4) { t->Q[i] = factor(t, i, 2.8769, -3.1427, 1.2046); }
STAGE(step5) { t->Q[i] = factor(t, i, 2.8366, -3.0525, 1.2012); }

STAGE(put) { t->ref_O[place(t, i)] = t->Y[i]; }
