/* Kernels that each drive one limit of the device: the memory, or one of the units of its multiprocessors. How fast
 * they run is what no other kernel can beat, so all of them work on zeros, which takes the least power and so lets the
 * clock be at its highest.
 *
 * All have the same parameters: memory to go over, the amount of work (vectors of 16 bytes, or rounds of every thread),
 * where to tell how many bytes were moved or operations done, and a place for results that is never there: the work has
 * to be done because at compile time nobody knows. A kernel that its architecture lacks, or with which it would not
 * reach its full rate, is left out; calibrate.c takes what it finds. */
typedef unsigned long long u64;

#define KERNEL(name, threads) \
	extern "C" __global__ void __launch_bounds__(threads) \
	name(uint4 *memory, u64 n, double *done, unsigned *nowhere)

static __device__ bool first()
{
	return !blockIdx.x && !threadIdx.x;
}

/* ---- memory: tiles of `loads` vectors per thread, dealt to the blocks in turn */

static __device__ uint4 load(const uint4 *p)
{
	uint4 v;

	asm volatile("ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
		     : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p));
	return v;
}

static __device__ void store(uint4 *p, uint4 v)
{
	asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" :: "l"(p), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w));
}

template<int loads> static __device__ void read(const uint4 *p, u64 n, unsigned *nowhere)
{
	u64 tile = (u64)loads * blockDim.x;
	unsigned seen = 0;

	for (u64 at = blockIdx.x * tile + threadIdx.x; at < n; at += gridDim.x * tile) {
		uint4 v[loads];

#pragma unroll
		for (int i = 0; i < loads; i++)
			v[i] = load(p + at + i * blockDim.x);
#pragma unroll
		for (int i = 0; i < loads; i++)
			seen |= v[i].x | v[i].y | v[i].z | v[i].w;
	}
	if (nowhere)
		*nowhere = seen;
}

template<int loads> static __device__ void write(uint4 *p, u64 n)
{
	u64 tile = (u64)loads * blockDim.x;

	for (u64 at = blockIdx.x * tile + threadIdx.x; at < n; at += gridDim.x * tile) {
#pragma unroll
		for (int i = 0; i < loads; i++)
			store(p + at + i * blockDim.x, make_uint4(0, 0, 0, 0));
	}
}

template<int loads> static __device__ void copy(uint4 *to, const uint4 *from, u64 n)
{
	u64 tile = (u64)loads * blockDim.x;

	for (u64 at = blockIdx.x * tile + threadIdx.x; at < n; at += gridDim.x * tile) {
		uint4 v[loads];

#pragma unroll
		for (int i = 0; i < loads; i++)
			v[i] = load(from + at + i * blockDim.x);
#pragma unroll
		for (int i = 0; i < loads; i++)
			store(to + at + i * blockDim.x, v[i]);
	}
}

#define MEMORY_KERNEL(name, bytes, work) \
	KERNEL(name, 512) \
	{ \
		work; \
		if (first()) \
			*done = bytes * (double)n; \
	}
MEMORY_KERNEL(read_2, 16, read<2>(memory, n, nowhere))
MEMORY_KERNEL(read_4, 16, read<4>(memory, n, nowhere))
MEMORY_KERNEL(read_8, 16, read<8>(memory, n, nowhere))
MEMORY_KERNEL(write_2, 16, write<2>(memory, n))
MEMORY_KERNEL(write_4, 16, write<4>(memory, n))
MEMORY_KERNEL(write_8, 16, write<8>(memory, n))
MEMORY_KERNEL(copy_2, 32, copy<2>(memory + n, memory, n))
MEMORY_KERNEL(copy_4, 32, copy<4>(memory + n, memory, n))
MEMORY_KERNEL(copy_8, 32, copy<8>(memory + n, memory, n))

/* ---- arithmetic: long runs of one instruction on accumulators that do not wait for each other */

/* Tells the operations of all threads, `each` of one thread in one round, and keeps the accumulators alive. */
template<typename type, int count> static __device__ void
finish(const type (&d)[count], double each, u64 n, double *done, unsigned *nowhere)
{
	if (first())
		*done = each * (double)n * gridDim.x * blockDim.x;
	if (nowhere) {
		type sum = d[0];

#pragma unroll
		for (int i = 1; i < count; i++)
			sum += d[i];
		*nowhere = (unsigned)sum;
	}
}

/* Zero, but not to the compiler. */
template<typename type, int count> static __device__ void clear(type (&d)[count], const unsigned *nowhere)
{
#pragma unroll
	for (int i = 0; i < count; i++)
		d[i] = (type)(u64)nowhere;
}

/* The ordinary units: 16 chains per thread, 32 steps of each in a round. One register in an instruction: no two of its
 * operands can be in the same bank. */
#define CHAIN_KERNEL(name, instruction, type, letter, flops) \
	KERNEL(name, 256) \
	{ \
		type d[16]; \
	\
		clear(d, nowhere); \
	_Pragma("unroll 1") \
		for (u64 i = 0; i < n; i++) { \
	_Pragma("unroll") \
			for (int k = 0; k < 16 * 32; k++) \
				asm volatile(instruction " %0, %0, %0, %0;" : "+" letter(d[k % 16])); \
		} \
		finish(d, flops * 16 * 32, n, done, nowhere); \
	}
CHAIN_KERNEL(fma_fp32, "fma.rn.f32", float, "f", 2)
CHAIN_KERNEL(fma_fp64, "fma.rn.f64", double, "d", 2)
#if __CUDA_ARCH__ >= 1000 && __CUDA_ARCH__ < 1200
CHAIN_KERNEL(fma2_fp32, "fma.rn.f32x2", u64, "l", 4)
#endif

/* Products by a warp. `all` is the instruction with its operands: %0 to %(c-1) accumulators, then %c, which is zero. */
#define MMA_KERNEL(name, all, type, letter, operands, zero, count, m_n_k) \
	KERNEL(name, 256) \
	{ \
		type d[8 * count]; \
	\
		clear(d, nowhere); \
	_Pragma("unroll 1") \
		for (u64 i = 0; i < n; i++) { \
	_Pragma("unroll") \
			for (int k = 0; k < 8 * 8; k++) { \
				type *c = d + k % 8 * count; \
	\
				asm volatile(all : operands(letter) : zero); \
			} \
		} \
		finish(d, 2.0 * m_n_k / 32 * 8 * 8, n, done, nowhere); \
	}
#define TWO(letter) "+" letter(c[0]), "+" letter(c[1])
#define FOUR(letter) TWO(letter), "+" letter(c[2]), "+" letter(c[3])
#define MMA_4(kind) "mma.sync.aligned." kind " {%0, %1, %2, %3}, {%4, %4, %4, %4}, {%4, %4}, {%0, %1, %2, %3};"
#define MMA_2(kind) "mma.sync.aligned." kind " {%0, %1}, {%2, %2, %2, %2}, {%2, %2}, {%0, %1};"

/* Where a warp's product is the fastest way: neither Hopper, which wants warpgroups, nor the data centre's Blackwell. */
#if (__CUDA_ARCH__ >= 800 && __CUDA_ARCH__ < 900) || __CUDA_ARCH__ >= 1200
MMA_KERNEL(mma_bf16, MMA_4("m16n8k16.row.col.f32.bf16.bf16.f32"), float, "f", FOUR, "r"(0), 4, 16 * 8 * 16)
MMA_KERNEL(mma_fp16, MMA_2("m16n8k16.row.col.f16.f16.f16.f16"), unsigned, "r", TWO, "r"(0), 2, 16 * 8 * 16)
MMA_KERNEL(mma_tf32, MMA_4("m16n8k8.row.col.f32.tf32.tf32.f32"), float, "f", FOUR, "r"(0), 4, 16 * 8 * 8)
MMA_KERNEL(mma_int8, MMA_4("m16n8k32.row.col.s32.s8.s8.s32"), int, "r", FOUR, "r"(0), 4, 16 * 8 * 32)
#if __CUDA_ARCH__ >= 890
MMA_KERNEL(mma_fp8, MMA_4("m16n8k32.row.col.f32.e4m3.e4m3.f32"), float, "f", FOUR, "r"(0), 4, 16 * 8 * 32)
#endif
#endif

/* Double precision: these two have units for it; others run such a product as a long subroutine. */
#if __CUDA_ARCH__ == 900
#define MMA_DOUBLE "mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, " \
	"{%4, %4, %4, %4, %4, %4, %4, %4}, {%4, %4, %4, %4}, {%0, %1, %2, %3};"
MMA_KERNEL(mma_fp64, MMA_DOUBLE, double, "d", FOUR, "d"(0.0), 4, 16 * 8 * 16)
#elif __CUDA_ARCH__ == 800
#define MMA_DOUBLE "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%2}, {%0, %1};"
MMA_KERNEL(mma_fp64, MMA_DOUBLE, double, "d", TWO, "d"(0.0), 2, 8 * 8 * 4)
#endif

/* ---- Hopper: products by a warpgroup, both operands in shared memory */

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
enum { ROW = 128, A_ROWS = 64, B_ROWS = 256 };	/* bytes of K in a row; rows of the operands */

/* Operands in rows of 128 bytes, K innermost, 128-byte swizzle: 8 rows are 1024 bytes, which is the stride. */
static __device__ u64 descriptor(const char *p)
{
	return (__cvta_generic_to_shared(p) & 0x3ffff) >> 4 | 1ull << 16 | (u64)(8 * ROW >> 4) << 32 | 1ull << 62;
}

/* "%0", ..., "%127" */
#define TEN(t) "%" #t "0, %" #t "1, %" #t "2, %" #t "3, %" #t "4, %" #t "5, %" #t "6, %" #t "7, %" #t "8, %" #t "9, "
#define NAMES "{" TEN() TEN(1) TEN(2) TEN(3) TEN(4) TEN(5) TEN(6) TEN(7) TEN(8) TEN(9) TEN(10) TEN(11) \
	"%120, %121, %122, %123, %124, %125, %126, %127}"
#define D4(l, i) "+" l(d[i]), "+" l(d[i + 1]), "+" l(d[i + 2]), "+" l(d[i + 3])
#define D16(l, i) D4(l, i), D4(l, i + 4), D4(l, i + 8), D4(l, i + 12)
#define D64(l, i) D16(l, i), D16(l, i + 16), D16(l, i + 32), D16(l, i + 48)

/* Eight products of 32 bytes of K in a round, two over each quarter of the rows. `k` is how many elements these are. */
#define WGMMA_KERNEL(name, kind, k, type, letter, scales) \
	KERNEL(name, 256) \
	{ \
		__shared__ __align__(1024) char operand[(A_ROWS + B_ROWS) * ROW]; \
		u64 a = descriptor(operand), b = descriptor(operand + A_ROWS * ROW); \
		type d[128]; \
	\
		for (int i = threadIdx.x; i < (int)sizeof(operand) / 4; i += blockDim.x) \
			((unsigned *)operand)[i] = 0; \
		asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); \
		__syncthreads(); \
		clear(d, nowhere); \
	_Pragma("unroll 1") \
		for (u64 i = 0; i < n; i++) { \
			asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); \
	_Pragma("unroll") \
			for (int s = 0; s < 8; s++) \
				asm volatile("wgmma.mma_async.sync.aligned.m64n256" kind " " NAMES ", %128, %129, 1" \
					     scales ";" : D64(letter, 0), D64(letter, 64) \
					     : "l"(a + 2 * (s % 4)), "l"(b + 2 * (s % 4))); \
			asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); \
			asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory"); \
		} \
		finish(d, 2.0 * 64 * 256 * k / 128 * 8, n, done, nowhere); \
	}
WGMMA_KERNEL(wgmma_bf16, "k16.f32.bf16.bf16", 16, float, "f", ", 1, 1, 0, 0")
WGMMA_KERNEL(wgmma_fp16, "k16.f32.f16.f16", 16, float, "f", ", 1, 1, 0, 0")
WGMMA_KERNEL(wgmma_tf32, "k8.f32.tf32.tf32", 8, float, "f", ", 1, 1")
WGMMA_KERNEL(wgmma_fp8, "k32.f32.e4m3.e4m3", 32, float, "f", ", 1, 1")
WGMMA_KERNEL(wgmma_int8, "k32.s32.s8.s8", 32, int, "r", "")
#endif
