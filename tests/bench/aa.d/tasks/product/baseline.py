"""A matrix product by tiles, as Triton's tutorial has it: bound by the tensor cores. EXTRA as in the task rows."""
import triton
import triton.language as tl
import d2k

EXTRA = 0


@triton.jit
def wait(steps, first_programs, seed):
    """0, after that many dependent multiply-adds in the programs that start first. No compiler can know that it is."""
    n = tl.where(tl.program_id(0) < first_programs, steps, 0)
    v = seed
    for _ in range(n):
        v = v * 0.75 + 1.0
    return (v == -1.0).to(tl.int32)


@triton.jit(do_not_specialize=["steps"])
def product_kernel(a, b, c, M, N, K, steps, first_programs, seed, BM: tl.constexpr, BN: tl.constexpr,
                   BK: tl.constexpr, GROUP: tl.constexpr):
    pid = tl.program_id(0) + wait(steps, first_programs, seed)
    wide = GROUP * tl.cdiv(N, BN)
    first = pid // wide * GROUP
    rows = min(tl.cdiv(M, BM) - first, GROUP)
    row, col = (first + pid % wide % rows) * BM, pid % wide // rows * BN
    left = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    right = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN])
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        acc = tl.dot(left.load([row, k]), right.load([k, col]), acc)
    out = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    out.store([row, col], acc.to(tl.bfloat16))


def run(a, b, c, *, extra_steps):
    (M, K), N = a.shape, b.shape[1]
    # two programs of 8 warps share an SM
    product_kernel[(d2k.cdiv(M, 128) * d2k.cdiv(N, 128), )](a, b, c, M, N, K, 4 + round(EXTRA * extra_steps),
                                                            d2k.num_sms() * 2, 0.5, BM=128, BN=128, BK=64, GROUP=8,
                                                            num_warps=8, num_stages=3)
