/* The language oracles are written in: one C source, compiled for the host by cc (OpenMP) and for the GPU by NVRTC.
 *
 * Both compilers get the same text: this header, then `struct task` made from task.json, then tasks/NAME/oracle.c,
 * then kernels.c. struct task holds, in this order and all eight bytes wide: u64 seed; the workload's dims as i64;
 * its params as double; a typed pointer per in and inout tensor; `double *ref_NAME` per out and inout tensor; `double
 * *NAME` per temp.
 *
 *     STAGE(scale_rows) { i64 r = i / t->N; t->ref_y[i] = bf16_get(t->x[i]) * t->h[r]; }
 *
 * A stage computes what index i owns; t and i are in scope. Indices run in parallel, stages one after the other, as
 * "generate" and "oracle" of task.json list them. Everything that makes inputs is bit-identical on both sides: only
 * IEEE + - * / and sqrt, never contracted to fma. Oracle stages may also use libm (exp, fmax, ...): there the two
 * sides may differ in the last bits.
 *
 * Element types are structs, so that a bf16 is not added as an integer by accident; read with X_get, write with X_put
 * (round to nearest even; fp8 saturates to its largest finite value, bf16 and f16 overflow to infinity). float32 and
 * integer tensors are plain float, i64, i32, i16, i8, u8 (bool is u8). */
#ifndef ORACLE_H
#define ORACLE_H

typedef long long i64;
typedef unsigned long long u64;
typedef int i32;
typedef unsigned int u32;
typedef short i16;
typedef unsigned short u16;
typedef signed char i8;
typedef unsigned char u8;

typedef struct { u16 code; } bf16;
typedef struct { u16 code; } f16;
typedef struct { u8 code; } e4m3;
typedef struct { u8 code; } e5m2;

#ifdef __CUDACC__
#define FN static __device__ __forceinline__
#define KERNEL extern "C" __global__ void
#define ARGS(type) const __grid_constant__ type
#define ARG(p) (&(p))
#define FOR_EACH(i, n) \
	for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < (n); i += (i64)gridDim.x * blockDim.x)
#else
#include <math.h>
#define FN static inline __attribute__((unused))
#define KERNEL void
#define ARGS(type) type const *const
#define ARG(p) (p)
#define FOR_EACH(i, n) _Pragma("omp parallel for schedule(static)") for (i64 i = 0; i < (n); i++)
#endif

/* A kernel over n indices whose arguments are one struct: by value on the GPU, by pointer on the host. */
#define EACH(name, type) \
	FN void name##_at(const type *t, i64 i); \
	KERNEL name(ARGS(type) args, i64 n); \
	KERNEL name(ARGS(type) args, i64 n) \
	{ \
		FOR_EACH(i, n) \
			name##_at(ARG(args), i); \
	} \
	FN void name##_at(const type *t, i64 i)

struct task;
#define STAGE(name) EACH(stage_##name, struct task)

/* ---- bits */

FN u64 bits_of(double x)
{
#ifdef __CUDACC__
	return (u64)__double_as_longlong(x);
#else
	union { double d; u64 u; } v = { .d = x };
	return v.u;
#endif
}

FN double of_bits(u64 u)
{
#ifdef __CUDACC__
	return __longlong_as_double((i64)u);
#else
	union { u64 u; double d; } v = { .u = u };
	return v.d;
#endif
}

FN u32 bits_of_float(float x)
{
#ifdef __CUDACC__
	return (u32)__float_as_int(x);
#else
	union { float f; u32 u; } v = { .f = x };
	return v.u;
#endif
}

FN float float_of_bits(u32 u)
{
#ifdef __CUDACC__
	return __int_as_float((int)u);
#else
	union { u32 u; float f; } v = { .u = u };
	return v.f;
#endif
}

FN int is_nan(double x) { return (bits_of(x) & ~(1ULL << 63)) > 0x7ffULL << 52; }
FN int is_finite(double x) { return (bits_of(x) >> 52 & 0x7ff) != 0x7ff; }

/* ---- small floating formats: sign, ebits of exponent, mbits of fraction, bias 2^(ebits-1)-1 */

/* Rounds x to the format, to nearest even, straight from the double (no double rounding). `top` is the largest finite
 * code; above it the result is `over`. */
FN u32 small_put(double x, int ebits, int mbits, u32 top, u32 over, u32 nan)
{
	u64 u = bits_of(x), frac = u & ((1ULL << 52) - 1);
	u32 sign = (u32)(u >> 63) << (ebits + mbits), code;
	int bias = (1 << (ebits - 1)) - 1, e = (int)(u >> 52 & 0x7ff) - 1023, drop = 52 - mbits;
	u64 keep;

	if (is_nan(x))
		return nan;
	if (e == -1023)			/* zero, or a double subnormal: far below every format here */
		return sign;
	if (e < 1 - bias) {		/* subnormal in the target */
		drop += 1 - bias - e;
		frac |= 1ULL << 52;
		if (drop > 53)
			return sign;
		keep = frac >> drop;
	} else {
		keep = ((u64)(e + bias) << mbits) + (frac >> drop);
	}
	u64 rest = frac & ((1ULL << drop) - 1), half = 1ULL << (drop - 1);
	keep += rest > half || (rest == half && (keep & 1));
	code = keep > top ? over : (u32)keep;
	return sign | code;
}

FN double small_get(u32 code, int ebits, int mbits)
{
	int bias = (1 << (ebits - 1)) - 1;
	u32 e = code >> mbits & ((1u << ebits) - 1), m = code & ((1u << mbits) - 1);
	double s = code >> (ebits + mbits) & 1 ? -1.0 : 1.0;

	if (e == 0)
		return s * (double)m * of_bits((u64)(1023 + 1 - bias - mbits) << 52);
	return s * of_bits((u64)((i64)e - bias + 1023) << 52 | (u64)m << (52 - mbits));
}

FN double bf16_get(bf16 x) { return (double)float_of_bits((u32)x.code << 16); }
FN bf16 bf16_put(double x)
{
	bf16 r = { (u16)small_put(x, 8, 7, 0x7f7f, 0x7f80, 0x7fc0) };
	return r;
}

FN double f16_get(f16 x)
{
	u32 c = x.code;

	if ((c & 0x7c00) == 0x7c00)	/* infinity and NaN */
		return of_bits((u64)(c >> 15) << 63 | 0x7ffULL << 52 | (u64)(c & 0x3ff) << 42);
	return small_get(c, 5, 10);
}
FN f16 f16_put(double x)
{
	f16 r = { (u16)small_put(x, 5, 10, 0x7bff, 0x7c00, 0x7e00) };
	return r;
}

FN double e4m3_get(e4m3 x) { return (x.code & 0x7f) == 0x7f ? of_bits(0x7ff8ULL << 48) : small_get(x.code, 4, 3); }
FN e4m3 e4m3_put(double x)
{
	e4m3 r = { (u8)small_put(x, 4, 3, 0x7e, 0x7e, 0x7f) };
	return r;
}

FN double e5m2_get(e5m2 x)
{
	u32 c = x.code;

	if ((c & 0x7c) == 0x7c)
		return of_bits((u64)(c >> 7) << 63 | 0x7ffULL << 52 | (u64)(c & 3) << 50);
	return small_get(c, 5, 2);
}
FN e5m2 e5m2_put(double x)
{
	e5m2 r = { (u8)small_put(x, 5, 2, 0x7b, 0x7b, 0x7e) };
	return r;
}

/* From a float, the same codes by fewer instructions: for what makes inputs by the million. */

FN bf16 bf16_of_float(float x)
{
	u32 u = bits_of_float(x);
	bf16 r = { (u16)((u & 0x7fffffff) > 0x7f800000 ? 0x7fc0 : (u + 0x7fff + (u >> 16 & 1)) >> 16) };

	return r;
}

FN e4m3 e4m3_of_float(float x)
{
	u32 u = bits_of_float(x) & 0x7fffffff, code;
	e4m3 r;

	if (u > 0x7f800000) {			/* NaN has no sign here, as in e4m3_put */
		r.code = 0x7f;
		return r;
	}
	if (u < 121u << 23)			/* below 2^-6: steps of 2^-9, rounded by adding what has a last bit of 1 */
		code = bits_of_float(float_of_bits(u) * 512.0f + 8388608.0f) & 15;
	else
		code = ((u + 0x7ffff + (u >> 20 & 1)) >> 20) - (120u << 3);
	r.code = (u8)(bits_of_float(x) >> 24 & 0x80) | (u8)(code > 0x7e ? 0x7e : code);
	return r;
}

/* ---- random numbers: Philox4x32-10, a function of (seed, stream, i) alone */

struct philox { u32 v[4]; };

FN struct philox philox(u64 seed, u32 stream, u64 i)
{
	struct philox c = { { (u32)i, (u32)(i >> 32), stream, 0 } };
	u32 k0 = (u32)seed, k1 = (u32)(seed >> 32);

	for (int round = 0; round < 10; round++) {
		u64 p = 0xd2511f53ULL * c.v[0], q = 0xcd9e8d57ULL * c.v[2];
		struct philox d = { { (u32)(q >> 32) ^ c.v[1] ^ k0, (u32)q, (u32)(p >> 32) ^ c.v[3] ^ k1, (u32)p } };

		c = d;
		k0 += 0x9e3779b9u;
		k1 += 0xbb67ae85u;
	}
	return c;
}

FN u32 rand_u32(u64 seed, u32 stream, i64 i) { return philox(seed, stream, (u64)i).v[0]; }

FN u64 rand_u64(u64 seed, u32 stream, i64 i)
{
	struct philox p = philox(seed, stream, (u64)i);

	return (u64)p.v[1] << 32 | p.v[0];
}

/* In [0, 1), a multiple of 2^-53. */
FN double rand_uniform(u64 seed, u32 stream, i64 i)
{
	return (double)(rand_u64(seed, stream, i) >> 11) * of_bits((u64)(1023 - 53) << 52);
}

/* In [0, n), n > 0; the bias of the multiply-shift is below n / 2^64. */
FN i64 rand_below(u64 seed, u32 stream, i64 i, i64 n)
{
	u64 r = rand_u64(seed, stream, i), b = (u64)n;
	u64 lo = (r & 0xffffffffu) * (b & 0xffffffffu), mid1 = (r >> 32) * (b & 0xffffffffu),
	    mid2 = (r & 0xffffffffu) * (b >> 32), hi = (r >> 32) * (b >> 32);
	u64 mid = (lo >> 32) + (mid1 & 0xffffffffu) + (mid2 & 0xffffffffu);

	return (i64)(hi + (mid1 >> 32) + (mid2 >> 32) + (mid >> 32));
}

/* ---- elementary functions for generators, the same bits everywhere; about 1 part in 1e15 */

/* Natural logarithm of a positive normal number. */
FN double det_log(double x)
{
	u64 u = bits_of(x);
	i64 e = (i64)(u >> 52) - 1023;
	double m = of_bits((u & ((1ULL << 52) - 1)) | 1023ULL << 52);

	if (m > 1.4142135623730951) {
		m *= 0.5;
		e++;
	}
	/* log m = 2 atanh s, |s| <= 0.1716 */
	double s = (m - 1) / (m + 1), z = s * s, sum = 0;
	for (int k = 23; k >= 1; k -= 2)
		sum = sum * z + 1.0 / k;
	return 2 * s * sum + (double)e * 0.6931471805599453;
}

/* 2^x for |x| < 1000. */
FN double det_exp2(double x)
{
	i64 n = (i64)(x < 0 ? x - 0.5 : x + 0.5);
	double y = (x - (double)n) * 0.6931471805599453, sum = 1;

	for (int k = 14; k >= 1; k--)
		sum = 1 + sum * y / k;
	return sum * of_bits((u64)(n + 1023) << 52);
}

FN double det_exp(double x) { return det_exp2(x * 1.4426950408889634); }

/* sqrt is correctly rounded on both sides. */
FN double det_sqrt(double x)
{
#ifdef __CUDACC__
	return __dsqrt_rn(x);
#else
	return sqrt(x);
#endif
}

/* sin(2 pi x) for |x| < 2^50: the whole turns go away exactly. */
FN double det_sin2pi(double x)
{
	double r = x - (double)(i64)x, sign = 1;	/* (-1, 1) */

	if (r < 0) {
		r = -r;
		sign = -1;
	}
	if (r > 0.5) {
		r = 1 - r;
		sign = -sign;
	}
	if (r > 0.25)
		r = 0.5 - r;
	double y = r * 6.283185307179586, z = y * y, sum = 1;	/* y <= pi/2 */
	for (int k = 24; k >= 2; k -= 2)
		sum = 1 - sum * z / (k * (k + 1));
	return sign * y * sum;
}

FN double det_cos2pi(double x)
{
	double r = x < 0 ? -x : x;

	return det_sin2pi(r - (double)(i64)r + 0.25);
}

/* Quantile function of the standard normal (Wichura's AS 241, PPND16), 0 < p < 1. */
FN double det_probit(double p)
{
	double q = p - 0.5, r, x;

	if (q >= -0.425 && q <= 0.425) {
		r = 0.180625 - q * q;
		return q * (((((((2509.0809287301226727 * r + 33430.575583588128105) * r + 67265.770927008700853) * r
			+ 45921.953931549871457) * r + 13731.693765509461125) * r + 1971.5909503065514427) * r
			+ 133.14166789178437745) * r + 3.387132872796366608)
			/ (((((((5226.495278852545925 * r + 28729.085735721942674) * r + 39307.89580009271061) * r
			+ 21213.794301586595867) * r + 5394.1960214247511077) * r + 687.1870074920579083) * r
			+ 42.313330701600911252) * r + 1.0);
	}
	r = det_sqrt(-det_log(q < 0 ? p : 1 - p));
	if (r <= 5) {
		r -= 1.6;
		x = (((((((7.7454501427834140764e-4 * r + 0.0227238449892691845833) * r + 0.24178072517745061177) * r
			+ 1.27045825245236838258) * r + 3.64784832476320460504) * r + 5.7694972214606914055) * r
			+ 4.6303378461565452959) * r + 1.42343711074968357734)
			/ (((((((1.05075007164441684324e-9 * r + 5.475938084995344946e-4) * r
			+ 0.0151986665636164571966) * r + 0.14810397642748007459) * r + 0.68976733498510000455) * r
			+ 1.6763848301838038494) * r + 2.05319162663775882187) * r + 1.0);
	} else {
		r -= 5;
		x = (((((((2.01033439929228813265e-7 * r + 2.71155556874348757815e-5) * r
			+ 0.0012426609473880784386) * r + 0.026532189526576123093) * r + 0.29656057182850489123) * r
			+ 1.7848265399172913358) * r + 5.4637849111641143699) * r + 6.6579046435011037772)
			/ (((((((2.04426310338993978564e-15 * r + 1.4215117583164458887e-7) * r
			+ 1.8463183175100546818e-5) * r + 7.868691311456132591e-4) * r + 0.0148753612908506148525) * r
			+ 0.13692988092273580531) * r + 0.59983220655588793769) * r + 1.0);
	}
	return q < 0 ? -x : x;
}

/* Standard normal; never 0 or 1 goes into the quantile function. */
FN double rand_normal(u64 seed, u32 stream, i64 i)
{
	double half = of_bits((u64)(1023 - 54) << 52);

	return det_probit(rand_uniform(seed, stream, i) + half);
}

/* ---- the same in single precision, four at a time: a tenth of the instructions, for large tensors */

/* Natural logarithm of a positive normal number, to about 1e-7 of the greater of it and 1. */
FN float det_logf(float x)
{
	u32 u = bits_of_float(x);
	int e = (int)(u >> 23) - 127;
	float m = float_of_bits((u & 0x7fffff) | 127u << 23);

	if (m > 1.41421356f) {
		m *= 0.5f;
		e++;
	}
	/* log m = 2 atanh s, |s| <= 0.1716 */
	float s = (m - 1.0f) / (m + 1.0f), z = s * s;
	float sum = 1.0f + z * (0.333333333f + z * (0.2f + z * (0.142857143f + z * 0.111111111f)));
	return 2.0f * s * sum + (float)e * 0.693147181f;
}

FN float det_sqrtf(float x)
{
#ifdef __CUDACC__
	return __fsqrt_rn(x);
#else
	return sqrtf(x);
#endif
}

/* A standard normal from 32 random bits: one is the sign, the others the chance p of something greater in size. sqrt(2)
 * erfinv(1 - p) after Giles, Approximating the erfinv function (2010). Off by less than 4e-6 of itself (or of 0.01), and
 * by 2e-4 beyond 5.8. */
FN float normal_of(u32 r)
{
	float p = ((float)(r & 0x7fffffff) + 0.5f) * 4.6566129e-10f;	/* in [2^-32, 1] */
	float w = -det_logf(p * (2.0f - p)), sum;

	if (w < 5.0f) {
		w -= 2.5f;
		sum = 2.81022636e-08f;
		sum = sum * w + 3.43273939e-07f;
		sum = sum * w - 3.5233877e-06f;
		sum = sum * w - 4.39150654e-06f;
		sum = sum * w + 0.00021858087f;
		sum = sum * w - 0.00125372503f;
		sum = sum * w - 0.00417768164f;
		sum = sum * w + 0.246640727f;
		sum = sum * w + 1.50140941f;
	} else {				/* one in 290 */
		w = det_sqrtf(w) - 3.0f;
		sum = -0.000200214257f;
		sum = sum * w + 0.000100950558f;
		sum = sum * w + 0.00134934322f;
		sum = sum * w - 0.00367342844f;
		sum = sum * w + 0.00573950773f;
		sum = sum * w - 0.0076224613f;
		sum = sum * w + 0.00943887047f;
		sum = sum * w + 1.00167406f;
		sum = sum * w + 2.83297682f;
	}
	return sum * (1.0f - p) * (r >> 31 ? -1.41421356f : 1.41421356f);
}

struct normals { float v[4]; };

FN struct normals rand_normals(u64 seed, u32 stream, i64 i)
{
	struct philox p = philox(seed, stream, (u64)i);
	struct normals x;

	for (int k = 0; k < 4; k++)
		x.v[k] = normal_of(p.v[k]);
	return x;
}
#endif
