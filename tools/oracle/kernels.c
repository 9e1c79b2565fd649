/* What the timer itself runs beside a task's stages: poison, guard bands, comparison, and the double-precision matrix
 * product. Appended to every oracle by the tool, so it is compiled for the host and for the GPU like the stages.
 *
 * Reductions are made without shared state: index i walks one strip of the array (elements i*span, i*span + step, ...;
 * neighbours on the GPU, contiguous runs on the host), writes its own partial result, and a second, small launch folds
 * the partials. Only the counts of a survey are shared: whole numbers, so their order does not matter. Every field of
 * an argument struct is eight bytes wide. */

FN i64 strip_end(i64 n, i64 span, i64 i) { return span > 1 && (i + 1) * span < n ? (i + 1) * span : n; }

/* ---- poison: a set of buffers with its guard bands is one array of words that only (seed, index) determines */

/* Cheap, since all that is not an input is filled with it before each block of runs. Who reads poison may work out its
 * seed, but learns nothing by it that he does not see. */
FN u64 poison_word(u64 seed, i64 i)
{
	u64 x = seed ^ (u64)i * 0x9e3779b97f4a7c15ULL;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

EACH(poison, struct words) { t->p[t->first + i] = poison_word(t->seed, t->first + i); }

/* Those bytes of word w that lie in [from, to), as a mask. */
FN u64 bytes_within(i64 w, i64 from, i64 to)
{
	i64 lo = w * 8 < from ? from - w * 8 : 0, hi = w * 8 + 8 > to ? to - w * 8 : 8;

	if (lo >= 8 || hi <= lo)
		return 0;
	return (hi == 8 ? ~0ULL : (1ULL << 8 * hi) - 1) & ~((1ULL << 8 * lo) - 1);
}

EACH(spoil, struct spoil)
{
	i64 set = i / t->words, w = t->first + i % t->words;
	u64 *p = (u64 *)t->base[set] + w, v = poison_word(t->seed[set], w), keep = bytes_within(w, 0, t->keep_to);

	if (t->seed[set] & 1)
		v |= bytes_within(w, t->ones_from, t->ones_to);
	*p = keep ? (v & ~keep) | (*p & keep) : v;
}

/* Word i of what lies around the sets, `words` a set: `shift` bytes in front of it, the rest behind it. */
FN u64 *gap_word(const struct gaps *t, i64 i, u64 *poison)
{
	i64 set = i / t->words, byte = i % t->words * 8;
	u64 slot = t->arena + (u64)(set * t->stride), shift = t->base[set] - slot;

	*poison = poison_word(t->seed[set], -1 - i % t->words);
	return (u64 *)(slot + (u64)byte + ((u64)byte < shift ? 0 : (u64)t->size));
}

FN void count_up(u64 *p)
{
#ifdef __CUDACC__
	atomicAdd(p, 1ULL);
#else
	_Pragma("omp atomic")
	++*p;
#endif
}

EACH(spoil_gaps, struct gaps)
{
	u64 poison, *p = gap_word(t, i, &poison);

	*p = poison;
}

EACH(check_gaps, struct gaps)
{
	u64 poison, *p = gap_word(t, i, &poison);

	if (*p != poison)
		count_up(t->damaged);
}

/* Bytes [from, to) of a set against its poison: out[i] is non-zero where word from/8 + i differs. */
EACH(check_band, struct band)
{
	i64 w = t->from / 8 + i;

	t->out[i] = (t->p[w] ^ poison_word(t->seed, w)) & bytes_within(w, t->from, t->to);
}

/* Two arrays: how many words differ in strip i, and the first that does (or -1). */
EACH(differ, struct differ)
{
	i64 count = 0, first = -1, end = strip_end(t->n, t->span, i);

	for (i64 j = i * t->span; j < end; j += t->step)
		if (((t->a[j] ^ t->b[j]) & bytes_within(j, 0, t->bytes)) && !count++)
			first = j;
	t->out[2 * i] = count;
	t->out[2 * i + 1] = first;
}

/* ---- comparison of an output with the oracle's exact doubles */

FN struct partial partial_zero(void)
{
	struct partial p = { 0, 0, 0, -1, 0, -1, 0, -1, 0, 0, 0, -1, 0 };

	return p;
}

FN void partial_first(i64 *at, i64 i)
{
	if (i >= 0 && (*at < 0 || i < *at))
		*at = i;
}

/* One element: value got, expected ref, and the distance of their codes in steps of the type. */
FN void partial_add(struct partial *p, double got, double ref, i64 steps, i64 limit, i64 i)
{
	if (!is_finite(ref))
		p->odd_ref++;
	if (is_finite(got) && is_finite(ref)) {
		double e = got > ref ? got - ref : ref - got;

		p->err2 += e * e;
		p->ref2 += ref * ref;
		if (e > p->worst) {
			p->worst = e;
			p->worst_at = i;
		}
	} else if (!(got == ref || (is_nan(got) && is_nan(ref)))) {
		p->nonfinite++;
		partial_first(&p->nonfinite_at, i);
	} else {
		steps = 0;
	}
	if (steps) {
		p->mismatch++;
		partial_first(&p->mismatch_at, i);
	}
	p->over_one += steps > 1;
	p->over_max += steps > limit;
	if (steps > p->steps) {
		p->steps = steps;
		p->steps_at = i;
	}
}

/* Codes of a sign-magnitude format as integers in the order of their values; +0 and -0 are one. */
FN i64 order(u64 code, int bits)
{
	u64 sign = 1ULL << (bits - 1);

	return code & sign ? -(i64)(code & (sign - 1)) : (i64)code;
}

FN i64 distance(i64 a, i64 b) { return a > b ? a - b : b - a; }

FN u64 float_code(double x)
{
#ifdef __CUDACC__
	return (u32)__float_as_int((float)x);
#else
	union { float f; u32 u; } v = { .f = (float)x };
	return v.u;
#endif
}

FN double f32_get(float x) { return x; }
FN double int_get(i64 x) { return (double)x; }
FN i64 int_steps(i64 got, double ref) { return distance(got, (i64)(ref < 0 ? ref - 0.5 : ref + 0.5)); }
FN i64 bf16_steps(bf16 g, double r) { return distance(order(g.code, 16), order(bf16_put(r).code, 16)); }
FN i64 f16_steps(f16 g, double r) { return distance(order(g.code, 16), order(f16_put(r).code, 16)); }
FN i64 e4m3_steps(e4m3 g, double r) { return distance(order(g.code, 8), order(e4m3_put(r).code, 8)); }
FN i64 e5m2_steps(e5m2 g, double r) { return distance(order(g.code, 8), order(e5m2_put(r).code, 8)); }
FN i64 f32_steps(float g, double r) { return distance(order(float_code(g), 32), order(float_code(r), 32)); }
FN i64 f64_steps(double g, double r) { return distance(order(bits_of(g) >> 1, 63), order(bits_of(r) >> 1, 63)); }
FN double f64_get(double x) { return x; }

#define COMPARE(name, type, get, steps_of) \
	EACH(compare_##name, struct compare) \
	{ \
		const type *got = (const type *)t->got; \
		struct partial p = partial_zero(); \
		i64 end = strip_end(t->n, t->span, i); \
		for (i64 j = i * t->span; j < end; j += t->step) \
			partial_add(&p, get(got[j]), t->ref[j], steps_of(got[j], t->ref[j]), t->steps, j); \
		t->out[i] = p; \
	}

COMPARE(float64, double, f64_get, f64_steps)
COMPARE(float32, float, f32_get, f32_steps)
COMPARE(float16, f16, f16_get, f16_steps)
COMPARE(bfloat16, bf16, bf16_get, bf16_steps)
COMPARE(float8_e4m3fn, e4m3, e4m3_get, e4m3_steps)
COMPARE(float8_e5m2, e5m2, e5m2_get, e5m2_steps)
COMPARE(int64, i64, int_get, int_steps)
COMPARE(int32, i32, int_get, int_steps)
COMPARE(int16, i16, int_get, int_steps)
COMPARE(int8, i8, int_get, int_steps)
COMPARE(uint8, u8, int_get, int_steps)
COMPARE(bool, u8, int_get, int_steps)

/* Folds partials i*span .. (i+1)*span of n into out[i]. */
EACH(fold, struct fold)
{
	struct partial p = partial_zero();

	for (i64 j = i * t->span; j < t->n && j < (i + 1) * t->span; j++) {
		struct partial q = t->in[j];

		p.err2 += q.err2;
		p.ref2 += q.ref2;
		if (q.worst > p.worst) {
			p.worst = q.worst;
			p.worst_at = q.worst_at;
		}
		p.nonfinite += q.nonfinite;
		partial_first(&p.nonfinite_at, q.nonfinite_at);
		p.mismatch += q.mismatch;
		partial_first(&p.mismatch_at, q.mismatch_at);
		p.over_one += q.over_one;
		p.over_max += q.over_max;
		if (q.steps > p.steps) {
			p.steps = q.steps;
			p.steps_at = q.steps_at;
		}
		p.odd_ref += q.odd_ref;
	}
	t->out[i] = p;
}

/* ---- rows of an output, each by itself: row i has `width` elements */

FN double get_any(const void *p, i64 type, i64 i)
{
	switch (type) {
	case ANY_F64: return ((const double *)p)[i];
	case ANY_F32: return ((const float *)p)[i];
	case ANY_F16: return f16_get(((const f16 *)p)[i]);
	case ANY_BF16: return bf16_get(((const bf16 *)p)[i]);
	case ANY_E4M3: return e4m3_get(((const e4m3 *)p)[i]);
	case ANY_E5M2: return e5m2_get(((const e5m2 *)p)[i]);
	case ANY_I64: return (double)((const i64 *)p)[i];
	case ANY_I32: return ((const i32 *)p)[i];
	case ANY_I16: return ((const i16 *)p)[i];
	case ANY_I8: return ((const i8 *)p)[i];
	default: return ((const u8 *)p)[i];
	}
}

EACH(row_errors, struct row_errors)
{
	struct row_error r = { 0, 0, 0, -1 };

	for (i64 j = i * t->width; j < (i + 1) * t->width; j++) {
		double got = get_any(t->got, t->type, j), ref = t->ref[j], e = got > ref ? got - ref : ref - got;

		if (!is_finite(got) || !is_finite(ref))
			continue;
		r.err2 += e * e;
		r.ref2 += ref * ref;
		if (e > r.worst) {
			r.worst = e;
			r.worst_at = j;
		}
	}
	t->out[i] = r;
}

/* ---- a second look at an output that is wrong: which elements, and what they are like */

FN i64 steps_any(const void *p, i64 type, i64 i, double ref)
{
	switch (type) {
	case ANY_F64: return f64_steps(((const double *)p)[i], ref);
	case ANY_F32: return f32_steps(((const float *)p)[i], ref);
	case ANY_F16: return f16_steps(((const f16 *)p)[i], ref);
	case ANY_BF16: return bf16_steps(((const bf16 *)p)[i], ref);
	case ANY_E4M3: return e4m3_steps(((const e4m3 *)p)[i], ref);
	case ANY_E5M2: return e5m2_steps(((const e5m2 *)p)[i], ref);
	case ANY_I64: return int_steps(((const i64 *)p)[i], ref);
	default: return int_steps((i64)get_any(p, type, i), ref);
	}
}

/* Whether the element at i would be wrong at `place`. */
FN int survey_wrong(const struct survey *t, double got, i64 i, i64 place)
{
	double ref = t->ref[place];

	if (!is_finite(got) || !is_finite(ref))
		return !(got == ref || (is_nan(got) && is_nan(ref)));
	return (got > ref ? got - ref : ref - got) > t->over || steps_any(t->got, t->type, i, ref) > t->steps;
}

FN int survey_unwritten(const struct survey *t, i64 i)
{
	const u8 *p = (const u8 *)t->got + i * t->size;
	int ones = t->base != 0, noise = t->base != 0, same = t->same != 0;
	i64 at = t->base ? p - t->base : 0;	/* an element never lies across two words */
	u64 word = poison_word(t->seed, at / 8) >> 8 * (at % 8);

	for (i64 b = 0; b < t->size; b++, word >>= 8) {
		ones &= p[b] == 0xff;
		noise &= p[b] == (u8)word;
		same = same && p[b] == t->same[i * t->size + b];
	}
	return ones | noise | same;
}

FN struct traits traits_zero(void)
{
	struct traits s = { 0, -1, -1 };

	s.least = of_bits(0x7ffULL << 52);	/* infinities, until there is something */
	s.greatest = -s.least;
	return s;
}

FN void traits_try(struct traits *s, const struct survey *t, double got, i64 i, int k, int there, i64 place)
{
	if (!there)
		return;
	s->tried[k]++;
	s->fits[k] += !survey_wrong(t, got, i, place);
}

/* Coordinates of the wrong element i: counted, and its neighbours tried. */
FN void traits_place(struct traits *s, const struct survey *t, double got, i64 i)
{
	i64 rest = i, stride = 1, c, rows, cols, p;

	for (int d = (int)t->ndim - 1; d >= 0; d--) {
		c = rest % t->shape[d];
		rest /= t->shape[d];
		if (t->shape[d] > 1) {
			count_up(t->counts + t->count_at[d] + c / t->width[d]);
			traits_try(s, t, got, i, 2 * d, c > 0, i - stride);
			traits_try(s, t, got, i, 2 * d + 1, c + 1 < t->shape[d], i + stride);
		}
		stride *= t->shape[d];
	}
	if (t->ndim < 2)
		return;
	rows = t->shape[t->ndim - 2];
	cols = t->shape[t->ndim - 1];
	p = i % (rows * cols);
	traits_try(s, t, got, i, SURVEY_TRANSPOSED, 1, i - p + p % rows * cols + p / rows);
}

EACH(survey, struct survey)
{
	struct traits s = traits_zero();
	i64 end = strip_end(t->n, t->span, i);

	for (i64 j = i * t->span; j < end; j += t->step) {
		double got = get_any(t->got, t->type, j), ref = t->ref[j];

		if (!survey_wrong(t, got, j, j))
			continue;
		if (!s.wrong++)
			s.first = j;
		s.last = j;
		s.nan += is_nan(got);
		s.infinite += !is_nan(got) && !is_finite(got);
		s.zero += got == 0;
		s.unwritten += survey_unwritten(t, j);
		if (is_finite(got) && is_finite(ref)) {
			s.got2 += got * got;
			s.got_ref += got * ref;
			s.ref2 += ref * ref;
			s.least = got < s.least ? got : s.least;
			s.greatest = got > s.greatest ? got : s.greatest;
		}
		traits_place(&s, t, got, j);
	}
	t->out[i] = s;
}

EACH(survey_fold, struct survey_fold)
{
	struct traits s = traits_zero();

	for (i64 j = i * t->span; j < t->n && j < (i + 1) * t->span; j++) {
		const struct traits *q = &t->in[j];

		s.wrong += q->wrong;
		partial_first(&s.first, q->first);
		s.last = q->last > s.last ? q->last : s.last;
		s.nan += q->nan;
		s.infinite += q->infinite;
		s.zero += q->zero;
		s.unwritten += q->unwritten;
		s.got2 += q->got2;
		s.got_ref += q->got_ref;
		s.ref2 += q->ref2;
		s.least = q->least < s.least ? q->least : s.least;
		s.greatest = q->greatest > s.greatest ? q->greatest : s.greatest;
		for (int k = 0; k < SURVEY_PLACES; k++) {
			s.tried[k] += q->tried[k];
			s.fits[k] += q->fits[k];
		}
	}
	t->out[i] = s;
}

/* ---- c[b] = op(a[b]) op(b[b]), row-major; op(a) is m x k, op(b) is k x n; ta: a is stored k x m, tb: b is n x k */

/* The obvious loop, one element an index: what `product` is tested against. */
EACH(product_slow, struct product)
{
	i64 col = i % t->n, row = i / t->n % t->m, z = i / t->n / t->m;
	const double *a = t->a + z * t->m * t->k, *b = t->b + z * t->k * t->n;
	double sum = 0;

	for (i64 k = 0; k < t->k; k++)
		sum += (t->ta ? a[k * t->m + row] : a[row * t->k + k]) * (t->tb ? b[col * t->k + k]
									  : b[k * t->n + col]);
	t->c[i] = sum;
}

#ifdef __CUDACC__

/* Overwrites n words of every multiprocessor's shared memory; the grid has a block for each, which takes it whole. */
extern "C" __global__ void scrub(const __grid_constant__ struct words t, i64 n)
{
	extern __shared__ volatile u64 shared[];

	for (i64 i = threadIdx.x; i < n; i += blockDim.x)
		shared[i] = t.seed + (u64)i * 0x9e3779b97f4a7c15ULL;
}

/* A block of 8 warps makes a 128 x 128 tile, a warp 64 x 32 of it, by the double-precision tensor core (m8n8k4: a lane
 * holds row lane/4, k lane%4 of A; k lane%4, column lane/4 of B; row lane/4, columns 2*(lane%4) and the next of C).
 * Tiles of A and B lie k-major in shared memory, rows padded to 132 doubles so that no fragment load conflicts; while
 * one pair of tiles is used the next is on its way through registers. grid: n tiles, m tiles, batch. */
enum { PT = 128, PK = 8, PLD = PT + 4 };

FN void product_load(double r[4], const double *p, i64 first, i64 rows, i64 k0, i64 k, int along_k)
{
	/* along_k: stored rows x k, else k x rows; neighbouring threads read neighbouring words either way */
#pragma unroll
	for (int j = 0; j < 4; j++) {
		int kk = along_k ? threadIdx.x % PK : threadIdx.x / PT + 2 * j;
		int row = along_k ? threadIdx.x / PK + 32 * j : threadIdx.x % PT;
		i64 x = first + row, y = k0 + kk;

		r[j] = x < rows && y < k ? (along_k ? p[x * k + y] : p[y * rows + x]) : 0.0;
	}
}

FN void product_put(double *tile, const double r[4], int along_k)
{
#pragma unroll
	for (int j = 0; j < 4; j++) {
		int kk = along_k ? threadIdx.x % PK : threadIdx.x / PT + 2 * j;
		int row = along_k ? threadIdx.x / PK + 32 * j : threadIdx.x % PT;

		tile[kk * PLD + row] = r[j];
	}
}

extern "C" __global__ void __launch_bounds__(256) product(const __grid_constant__ struct product t, i64 unused)
{
	__shared__ double sa[2][PK * PLD], sb[2][PK * PLD];
	const double *a = t.a + (i64)blockIdx.z * t.m * t.k, *b = t.b + (i64)blockIdx.z * t.k * t.n;
	double *c = t.c + (i64)blockIdx.z * t.m * t.n;
	i64 row0 = (i64)blockIdx.y * PT, col0 = (i64)blockIdx.x * PT;
	int lane = threadIdx.x % 32, warp = threadIdx.x / 32, wr = warp / 4 * 64, wc = warp % 4 * 32;
	int a_along_k = !t.ta, b_along_k = (int)t.tb, buf = 0;
	double acc[8][4][2] = {}, ra[4], rb[4];

	(void)unused;
	product_load(ra, a, row0, t.m, 0, t.k, a_along_k);
	product_load(rb, b, col0, t.n, 0, t.k, b_along_k);
	product_put(sa[0], ra, a_along_k);
	product_put(sb[0], rb, b_along_k);
	__syncthreads();
	for (i64 k0 = 0; k0 < t.k; k0 += PK, buf ^= 1) {
		if (k0 + PK < t.k) {
			product_load(ra, a, row0, t.m, k0 + PK, t.k, a_along_k);
			product_load(rb, b, col0, t.n, k0 + PK, t.k, b_along_k);
		}
#pragma unroll
		for (int kk = 0; kk < PK; kk += 4) {
			double fa[8], fb[4];
			int at = (kk + lane % 4) * PLD + lane / 4;
#pragma unroll
			for (int i = 0; i < 8; i++)
				fa[i] = sa[buf][at + wr + 8 * i];
#pragma unroll
			for (int j = 0; j < 4; j++)
				fb[j] = sb[buf][at + wc + 8 * j];
#pragma unroll
			for (int i = 0; i < 8; i++)
#pragma unroll
				for (int j = 0; j < 4; j++)
					asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
					    : "+d"(acc[i][j][0]), "+d"(acc[i][j][1]) : "d"(fa[i]), "d"(fb[j]));
		}
		if (k0 + PK < t.k) {
			product_put(sa[buf ^ 1], ra, a_along_k);
			product_put(sb[buf ^ 1], rb, b_along_k);
		}
		__syncthreads();
	}
#pragma unroll
	for (int i = 0; i < 8; i++)
#pragma unroll
		for (int j = 0; j < 4; j++)
#pragma unroll
			for (int e = 0; e < 2; e++) {
				i64 row = row0 + wr + 8 * i + lane / 4, col = col0 + wc + 8 * j + lane % 4 * 2 + e;

				if (row < t.m && col < t.n)
					c[row * t.n + col] = acc[i][j][e];
			}
}

#else

void scrub(const struct words *const t, i64 n);
void scrub(const struct words *const t, i64 n)
{
	(void)t;
	(void)n;	/* a host has none */
}

/* Tiles of 32 x 64 over all of k, the strip of op(b) copied in order so that the inner loop runs along memory. */
void product(const struct product *const t, i64 unused);
void product(const struct product *const t, i64 unused)
{
	i64 rows = (t->m + 31) / 32, cols = (t->n + 63) / 64;

	(void)unused;
	_Pragma("omp parallel for collapse(2) schedule(dynamic)")
	for (i64 rz = 0; rz < rows * t->batch; rz++)
		for (i64 cj = 0; cj < cols; cj++) {
			i64 z = rz / rows, r0 = rz % rows * 32, c0 = cj * 64;
			i64 r1 = r0 + 32 < t->m ? r0 + 32 : t->m, w = c0 + 64 < t->n ? 64 : t->n - c0;
			const double *a = t->a + z * t->m * t->k, *b = t->b + z * t->k * t->n;
			double acc[32][64] = { { 0 } }, strip[64];

			for (i64 k = 0; k < t->k; k++) {
				for (i64 j = 0; j < w; j++)
					strip[j] = t->tb ? b[(c0 + j) * t->k + k] : b[k * t->n + c0 + j];
				for (i64 i = r0; i < r1; i++) {
					double x = t->ta ? a[k * t->m + i] : a[i * t->k + k];

					for (i64 j = 0; j < w; j++)
						acc[i - r0][j] += x * strip[j];
				}
			}
			for (i64 i = r0; i < r1; i++)
				for (i64 j = 0; j < w; j++)
					t->c[z * t->m * t->n + i * t->n + c0 + j] = acc[i - r0][j];
		}
}
#endif
