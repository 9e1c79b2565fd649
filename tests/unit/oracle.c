/* The oracle language: conversions, random numbers, elementary functions; the tiled product and the comparison on the
 * host. */
#include "../tap/tap.h"
#include "element.h"
#include "engine.h"
#include "file.h"
#include "hash.h"
#include "oracle.h"
#include "../../tools/oracle/oracle.h"
#include "../../tools/oracle/kernels.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Every code of a format: it survives a round trip, and what lies between it and the next rounds to the nearer one,
 * halves to the even one. */
static void check_format(enum dtype t, int bits, const char *name)
{
	long long bad_trip = 0, bad_half = 0, bad_near = 0;
	unsigned top = 1u << (bits - 1);

	for (unsigned c = 0; c < top; c++) {
		u16 code = (u16)c, next = (u16)(c + 1), back = 0;
		double x = element_get(t, &code), y, half;

		if (!isfinite(x))
			continue;
		element_put(t, &back, x);
		bad_trip += back != code;
		back = 0;
		element_put(t, &back, -x);
		bad_trip += back != (code | top);
		y = element_get(t, &next);
		if (c + 1 == top || !isfinite(y))
			continue;
		half = (x + y) / 2;	/* exact: one bit more than the format's */
		back = 0;
		element_put(t, &back, half);
		bad_half += back != (c & 1 ? next : code);
		element_put(t, &back, nextafter(half, 0));
		bad_near += back != code;
		element_put(t, &back, nextafter(half, INFINITY));
		bad_near += back != next;
	}
	is_int(bad_trip, 0, "%s: every code survives, with either sign", name);
	is_int(bad_half, 0, "%s: halves go to the even code", name);
	is_int(bad_near, 0, "%s: everything else goes to the nearer code", name);
}

static unsigned code_of(enum dtype t, double x)
{
	u16 code = 0;

	element_put(t, &code, x);
	return code;
}

static void check_extremes(void)
{
	is_int(code_of(DT_F8E4M3, 1e9), 0x7e, "e4m3 saturates");
	is_int(code_of(DT_F8E4M3, -INFINITY), 0xfe, "infinity too");
	is_int(code_of(DT_F8E4M3, 464), 0x7e, "and what is a half step above the largest");
	is_int(code_of(DT_F8E4M3, NAN), 0x7f, "but not NaN");
	is_int(code_of(DT_F8E5M2, 1e9), 0x7b, "e5m2 saturates");
	is_int(code_of(DT_BF16, 3.4e38), 0x7f80, "bf16 overflows to infinity");
	is_int(code_of(DT_BF16, 3.39e38), 0x7f7f, "not too early");
	is_int(code_of(DT_F16, 65520), 0x7c00, "f16 overflows from half a step above its largest");
	is_int(code_of(DT_F16, 65519), 0x7bff, "not too early");
	is_int(code_of(DT_BF16, 1e-300), 0, "far below the least");
	is_int(code_of(DT_F16, ldexp(1, -25)), 0, "half of the least subnormal goes to zero");
	is_int(code_of(DT_F16, ldexp(1.0001, -25)), 1, "a bit more does not");
	ok(isnan(element_get(DT_BF16, &(u16){ 0x7fc1 })) && isnan(element_get(DT_F16, &(u16){ 0xfc01 })) &&
	   isnan(element_get(DT_F8E4M3, &(u8){ 0xff })) && isnan(element_get(DT_F8E5M2, &(u8){ 0x7d })),
	   "NaN stays NaN");
	ok(isinf(element_get(DT_F16, &(u16){ 0x7c00 })) && isinf(element_get(DT_F8E5M2, &(u8){ 0xfc })),
	   "infinity stays infinity");
	/* no double rounding: through float this would become 1 + 2^-7 */
	is_int(code_of(DT_BF16, 1 + ldexp(1, -8) + ldexp(1, -40)), 0x3f81, "rounds once, from the double");
	is_int(code_of(DT_BF16, 1 + ldexp(1, -8)), 0x3f80, "a true half is even");
}

/* Known answers of Philox4x32-10 (Salmon et al., Random123): counter and key all zero, all one. */
static void check_philox(void)
{
	static const u32 zero[4] = { 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 };
	struct philox p = philox(0, 0, 0);
	double sum = 0, square = 0, cube = 0, least = 1, greatest = 0;
	long long below[7] = { 0 }, n = 200000;

	ok(!memcmp(p.v, zero, sizeof(zero)), "philox: known answer");
	ok(rand_u32(0, 0, 0) == zero[0] && rand_u64(0, 0, 0) == ((u64)zero[1] << 32 | zero[0]), "words come from it");
	ok(rand_u32(1, 0, 0) != rand_u32(0, 0, 0) && rand_u32(0, 1, 0) != rand_u32(0, 0, 0) &&
	   rand_u32(0, 0, 1LL << 32) != rand_u32(0, 0, 0) && rand_u32(1ULL << 32, 0, 0) != rand_u32(0, 0, 0),
	   "seed, stream and index matter, high halves too");
	for (i64 i = 0; i < n; i++) {
		double u = rand_uniform(3, 1, i), x = rand_normal(3, 2, i);

		least = fmin(least, u);
		greatest = fmax(greatest, u);
		sum += x;
		square += x * x;
		cube += x * x * x * x;
		below[rand_below(3, 3, i, 7)]++;
	}
	ok(least >= 0 && least < 1e-4 && greatest < 1 && greatest > 0.9999, "uniform fills [0, 1)");
	ok(fabs(sum / (double)n) < 0.01 && fabs(square / (double)n - 1) < 0.02 && fabs(cube / (double)n - 3) < 0.15,
	   "normal has mean 0, variance 1, fourth moment 3");
	for (int k = 0; k < 7; k++)
		below[0] = below[k] < below[0] ? below[k] : below[0];
	ok(below[0] > n / 7 * 0.97, "below is even");
	is_int(rand_below(1, 1, 1, 1), 0, "below 1 is 0");
}

static void check_functions(void)
{
	double worst_log = 0, worst_exp = 0, worst_sin = 0, worst_probit = 0;

	for (int i = 0; i < 100000; i++) {
		double x = exp(40 * rand_uniform(1, 1, i) - 20), y = 60 * rand_uniform(1, 2, i) - 30,
		       p = rand_uniform(1, 3, i);
		double z = det_probit(p + 1e-18);

		worst_log = fmax(worst_log, fabs(det_log(x) - log(x)) / fmax(fabs(log(x)), 1e-3));
		worst_exp = fmax(worst_exp, fabs(det_exp2(y) - exp2(y)) / exp2(y));
		worst_sin = fmax(worst_sin, fabs(det_sin2pi(y) - sin(2 * 3.14159265358979323846 * (y - rint(y)))));
		worst_sin = fmax(worst_sin, fabs(det_cos2pi(y) - cos(2 * 3.14159265358979323846 * (y - rint(y)))));
		worst_probit = fmax(worst_probit, fabs(0.5 * erfc(-z / sqrt(2)) - p));
	}
	ok(worst_log < 1e-14, "det_log (%.2g)", worst_log);
	ok(worst_exp < 1e-14, "det_exp2 (%.2g)", worst_exp);
	ok(worst_sin < 1e-14, "det_sin2pi, det_cos2pi (%.2g)", worst_sin);
	ok(worst_probit < 1e-14, "det_probit is the inverse of the distribution function (%.2g)", worst_probit);
}

/* What makes large inputs is held against its counterpart in double. */
static void check_single(void)
{
	double worst_log = 0, worst_normal = 0, sum = 0, square = 0, fourth = 0;
	long long bad_bf16 = 0, bad_e4m3 = 0, not_odd = 0, n = 1000000, beyond[2] = { 0 };

	for (u64 u = 0; u < 1ULL << 32; u += 641) {	/* every sign, exponent and leading bit of a fraction */
		float x = float_of_bits((u32)u);

		bad_bf16 += bf16_of_float(x).code != bf16_put((double)x).code;
		bad_e4m3 += e4m3_of_float(x).code != e4m3_put((double)x).code;
	}
	for (u32 code = 0; code < 0x7f; code++)		/* every half between two codes of e4m3 */
		for (int side = -1; side <= 1; side++) {
			e4m3 low = { (u8)code }, high = { (u8)(code + 1) };
			double next = code == 0x7e ? 480 : e4m3_get(high);
			float half = (float)((e4m3_get(low) + next) / 2);

			half = float_of_bits(bits_of_float(half) + (u32)side);
			bad_e4m3 += e4m3_of_float(half).code != e4m3_put((double)half).code;
			bad_e4m3 += e4m3_of_float(-half).code != e4m3_put((double)-half).code;
		}
	is_int(bad_bf16, 0, "bf16_of_float is bf16_put");
	is_int(bad_e4m3, 0, "e4m3_of_float is e4m3_put");
	for (u32 r = 300; r < 1u << 31; r += 9973) {
		float p = ((float)r + 0.5f) / 2147483648.0f;
		double want = -det_probit(((double)r + 0.5) / 4294967296.0);

		worst_log = fmax(worst_log, fabs((double)det_logf(p) - log((double)p)) / fmax(-log((double)p), 1));
		worst_normal = fmax(worst_normal, fabs((double)normal_of(r) - want) / fmax(want, 0.01));
		not_odd += normal_of(r) != -normal_of(r | 1u << 31);
	}
	ok(worst_log < 2e-7, "det_logf (%.2g)", worst_log);
	ok(worst_normal < 4e-6 && !not_odd, "normal_of is the quantile (%.2g), and odd", worst_normal);
	ok(normal_of(0) > 6 && normal_of(0) < 7 && normal_of(0x7fffffff) == 0, "and finite at its ends");
	for (i64 i = 0; i < n; i++) {
		struct normals four = rand_normals(3, 2, i);

		for (int k = 0; k < 4; k++) {
			double x = (double)four.v[k];

			sum += x;
			square += x * x;
			fourth += x * x * x * x;
			beyond[0] += x > 3;
			beyond[1] += x < -4;
		}
	}
	n *= 4;
	ok(fabs(sum / (double)n) < 0.002 && fabs(square / (double)n - 1) < 0.003 && fabs(fourth / (double)n - 3) < 0.03,
	   "rand_normals: mean 0, variance 1, fourth moment 3");
	ok(llabs(beyond[0] - 5400) < 400 && llabs(beyond[1] - 127) < 60, "with tails: %lld over 3, %lld under -4",
	   beyond[0], beyond[1]);
}

/* The support kernels alone, with an empty task. */
static struct engine *support(struct err *e)
{
	static const char *const files[] = { "oracle.h", "kernels.h", "kernels.c" };
	struct buf source = BUF_INIT;
	struct engine *x;

	for (int i = 0; i < 3; i++) {
		char *path = file_in_root("tools/oracle/%s", files[i]);

		if (file_read(path, &source, e))
			return NULL;
		free(path);
	}
	x = engine_host(&source, e);
	buf_release(&source);
	return x;
}

static void check_product(struct engine *x)
{
	static const long long size[][4] = { { 1, 32, 64, 100 }, { 3, 33, 70, 17 }, { 2, 1, 65, 5 }, { 1, 97, 7, 1 } };
	struct err e = { "" };
	double worst = 0;

	for (int s = 0; s < 16; s++) {
		const long long *d = size[s / 4];
		struct product p = { .batch = d[0], .m = d[1], .n = d[2], .k = d[3], .ta = s & 1, .tb = s >> 1 & 1 }, q;
		i64 na = d[0] * d[1] * d[3], nb = d[0] * d[3] * d[2], nc = d[0] * d[1] * d[2];
		double *a = malloc((size_t)na * 8), *b = malloc((size_t)nb * 8), *c = malloc((size_t)nc * 8),
		       *slow = malloc((size_t)nc * 8);

		for (i64 i = 0; i < na; i++)
			a[i] = rand_normal(1, 1, i);
		for (i64 i = 0; i < nb; i++)
			b[i] = rand_normal(1, 2, i);
		p.a = a;
		p.b = b;
		p.c = c;
		q = p;
		q.c = slow;
		if (engine_run_grid(x, "product", &p, (const unsigned[3]){ 1, 1, 1 }, &e) ||
		    engine_run(x, "product_slow", &q, nc, &e))
			worst = INFINITY;
		for (i64 i = 0; i < nc; i++)
			worst = fmax(worst, fabs(c[i] - slow[i]));
		free(a);
		free(b);
		free(c);
		free(slow);
	}
	ok(worst < 1e-12, "the tiled product is the obvious loop's, all transposes, odd sizes (%.2g) %s", worst,
	   e.text);
}

int main(void)
{
	struct engine *x;
	struct err e = { "" };

	check_format(DT_BF16, 16, "bf16");
	check_format(DT_F16, 16, "f16");
	check_format(DT_F8E4M3, 8, "e4m3");
	check_format(DT_F8E5M2, 8, "e5m2");
	check_extremes();
	check_philox();
	check_functions();
	check_single();
	x = support(&e);
	if (ok(x != NULL, "the support kernels compile for the host %s", e.text))
		check_product(x);
	engine_close(x);
	return done_testing();
}
