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

/* spoil: words first .. first+words of many sets, index by index through all of them. Bytes before `keep_to` stay;
 * bytes [ones_from, ones_to) become 0xff in sets whose seed is odd, the rest is poison. */
struct spoil {
	const u64 *base, *seed;	/* per set */
	i64 first, words, keep_to, ones_from, ones_to;
};

/* spoil_gaps, check_gaps: the memory around many sets, word by word through all of them. Set number k lies somewhere in
 * slot k; slots begin `stride` bytes apart, the first at `arena`, and `words` words of each are not the set's. */
struct gaps {
	const u64 *base, *seed;	/* per set */
	u64 arena;
	i64 stride, size, words;	/* size: bytes of a set */
	u64 *damaged;		/* check_gaps: how many are not as spoil_gaps left them is added */
};

/* check_band: bytes [from, to) of the set at p against its poison, a word an index */
struct band {
	const u64 *p;
	u64 seed;
	i64 from, to;
	u64 *out;
};

/* differ: strip i of two arrays of `bytes` bytes in n words; how many words differ, and the first that does or -1 */
struct differ {
	const u64 *a, *b;
	i64 bytes, n, span, step;
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

/* row_errors: row i, the elements that are finite on both sides */
struct row_error {
	double err2, ref2;	/* sums of squares of got - expected and of expected */
	double worst;		/* largest |got - expected| ... */
	i64 worst_at;		/* ... and where, as an index of the whole, or -1 */
};

struct row_errors {
	const void *got;
	const double *ref;
	i64 type, width;	/* enum any_type, and elements of a row */
	struct row_error *out;
};

/* Element types by number, in the order of lib/dtype.h, for kernels that take any. */
enum any_type { ANY_F64, ANY_F32, ANY_F16, ANY_BF16, ANY_E4M3, ANY_E5M2, ANY_I64, ANY_I32, ANY_I16, ANY_I8, ANY_U8,
	ANY_BOOL };

/* Places where a wrong element's value could belong: one back and one on along each dimension, and where it lies when
 * the last two dimensions change places. */
enum { SURVEY_DIMS = 8, SURVEY_PLACES = 2 * SURVEY_DIMS + 1, SURVEY_TRANSPOSED = 2 * SURVEY_DIMS };

/* What the wrong elements of an output are like. */
struct traits {
	i64 wrong, first, last;		/* how many, and the outermost flat indices, or -1 */
	i64 nan, infinite, zero;
	i64 unwritten;			/* still what was there before the run */
	double got2, got_ref, ref2;	/* sums of products over those that are finite on both sides */
	double least, greatest;		/* of the same */
	i64 tried[SURVEY_PLACES], fits[SURVEY_PLACES];	/* how many have such a place, and are right for it */
};

/* survey: strip i. An element is wrong when it is further than `over` or more than `steps` steps of the type from its
 * reference. Each wrong one is counted in counts[count_at[d] + its coordinate / width[d]] for every dimension d. */
struct survey {
	const void *got;
	const double *ref;
	i64 type, size;		/* enum any_type, and bytes of an element */
	i64 n, span, step;
	double over;
	i64 steps;
	const u8 *base;		/* what was there: poison of the set that begins here, or bytes ff; 0: neither */
	u64 seed;
	const u8 *same;		/* or what lies here, for outputs that are inputs too; 0: nothing */
	i64 ndim, shape[SURVEY_DIMS], width[SURVEY_DIMS], count_at[SURVEY_DIMS];
	u64 *counts;
	struct traits *out;
};

/* survey_fold: traits i*span .. (i+1)*span of n into out[i] */
struct survey_fold {
	const struct traits *in;
	i64 n, span;
	struct traits *out;
};

/* product: c[b] = op(a[b]) op(b[b]), row-major; op(a) is m x k, op(b) is k x n; ta: a is stored k x m, tb: b is
 * stored n x k */
struct product {
	double *c;
	const double *a, *b;
	i64 batch, m, n, k, ta, tb;
};

#endif
