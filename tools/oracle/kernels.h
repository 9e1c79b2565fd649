/* Argument structs of the kernels in kernels.c, for those who launch them. Every field is eight bytes wide; pointers
 * are addresses where the kernel runs. Needs oracle.h before it. */
#ifndef KERNELS_H
#define KERNELS_H

/* poison: words first .. first+n of the set at p */
struct words {
	u64 *p;
	u64 seed;
	i64 first;
};

/* check_band: bytes [from, to) of the set at p against its poison, a word an index */
struct band {
	const u64 *p;
	u64 seed;
	i64 from, to;
	u64 *out;
};

/* differ: strip i of two arrays of words; how many differ, and the first that does or -1 */
struct differ {
	const u64 *a, *b;
	i64 n, span, step;
	i64 *out;	/* pairs */
};

/* What comparing an output with the oracle's exact doubles comes to. */
struct partial {
	double err2, ref2;	/* sums of squares of got - expected and of expected */
	double worst;		/* largest |got - expected| ... */
	i64 worst_at;		/* ... and where, or -1 */
	i64 nonfinite;		/* got not finite where expected is, or not the same infinity or NaN */
	i64 nonfinite_at;
	i64 mismatch;		/* elements whose value after rounding to the type differs */
	i64 mismatch_at;
	i64 over_one;		/* more than one step of the type away */
	i64 over_max;		/* more than `steps` steps away */
	i64 steps, steps_at;	/* largest distance in steps, and where */
	i64 odd_ref;		/* expected value itself not finite */
};

/* compare_TYPE: strip i; `steps` is the distance beyond which over_max counts */
struct compare {
	const void *got;
	const double *ref;
	i64 n, span, step, steps;
	struct partial *out;
};

/* fold: partials i*span .. (i+1)*span of n into out[i] */
struct fold {
	const struct partial *in;
	i64 n, span;
	struct partial *out;
};

/* product: c[b] = op(a[b]) op(b[b]), row-major; op(a) is m x k, op(b) is k x n; ta: a is stored k x m, tb: b is
 * stored n x k */
struct product {
	double *c;
	const double *a, *b;
	i64 batch, m, n, k, ta, tb;
};

#endif
