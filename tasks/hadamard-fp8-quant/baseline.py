"""The rotation as the matrix product it is, with the +-1 matrix made in the kernel, then a kernel that quantises rows.

With k0 a multiple of DEPTH and i below it, H[k0 + i, j] = H[k0, j] * H[i, j]: a program makes one block of the matrix,
and in each step of its product flips the signs of the columns for which H[k0, j] is -1.
"""
import triton
import triton.language as tl
import d2k


@triton.jit
def odd(k):
    """The parity of the ones in k, which is below 2^16."""
    k = k ^ (k >> 8)
    k = k ^ (k >> 4)
    k = k ^ (k >> 2)
    return (k ^ (k >> 1)) & 1


PRODUCT = [triton.Config({"ROWS": r, "COLS": c, "DEPTH": d}, num_warps=w, num_stages=n)
           for r, c, d, w, n in ((128, 128, 64, 8, 3), (128, 128, 64, 4, 4), (128, 256, 64, 8, 4), (256, 128, 64, 8, 4))]


@triton.autotune(configs=PRODUCT, key=["M", "N"])
@triton.jit
def rotate(x, y, M, N, factor, ROWS: tl.constexpr, COLS: tl.constexpr, DEPTH: tl.constexpr):
    tiles = tl.cdiv(N, COLS)
    m = (tl.program_id(0) // tiles) * ROWS
    j = (tl.program_id(0) % tiles) * COLS + tl.arange(0, COLS)
    rows = tl.make_tensor_descriptor(x, [M, N], [N, 1], [ROWS, DEPTH])
    # bf16 numbers by their bits: 0x3f80 is 1, and the highest bit is the sign
    block = (odd(tl.arange(0, DEPTH)[:, None] & j[None, :]) << 15 | 0x3f80).to(tl.int16)
    acc = tl.zeros((ROWS, COLS), tl.float32)
    for k in tl.range(0, N, DEPTH):
        h = block ^ (odd(k & j) << 15).to(tl.int16)[None, :]
        acc = tl.dot(rows.load([m, k]), h.to(tl.bfloat16, bitcast=True), acc)
    r = m + tl.arange(0, ROWS)
    at = y + r[:, None].to(tl.int64) * N + j[None, :]
    tl.store(at, (acc * factor).to(tl.bfloat16), mask=(r[:, None] < M) & (j[None, :] < N))


@triton.autotune(configs=[triton.Config({}, num_warps=w) for w in (4, 8)], key=["M", "N"])
@triton.jit
def quantise(y, q, s, M, N: tl.constexpr, ROWS: tl.constexpr):
    m = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    at = m[:, None].to(tl.int64) * N + tl.arange(0, N)[None, :]
    v = tl.load(y + at, mask=m[:, None] < M, other=0).to(tl.float32)
    scale = tl.maximum(tl.max(tl.abs(v), axis=1), 1e-8) / 448.0
    tl.store(q + at, (v / scale[:, None]).to(tl.float8e4nv), mask=m[:, None] < M)
    tl.store(s + m, scale, mask=m < M)


def run(x, q, s):
    M, N = x.shape
    y = d2k.empty((M, N), d2k.bfloat16)
    rotate[lambda c: (d2k.cdiv(M, c["ROWS"]) * d2k.cdiv(N, c["COLS"]),)](x, y, M, N, N ** -0.5)
    rows = max(1, 8192 // N)
    quantise[(d2k.cdiv(M, rows),)](y, q, s, M, N, ROWS=rows)
