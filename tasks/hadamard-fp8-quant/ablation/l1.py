"""One kernel: a row is a matrix, and small Hadamard factors from both sides rotate it; its maximum and codes follow.

The factors are corners of one small matrix that a kernel before writes. Rows of 128 take that matrix as it is.
"""
import triton
import triton.language as tl
import d2k

SIDE = tl.constexpr(128)


@triton.jit
def write_matrix(h):
    i = tl.arange(0, SIDE)
    k = i[:, None] & i[None, :]
    k = k ^ (k >> 4)
    k = k ^ (k >> 2)
    k = (k ^ (k >> 1)) & 1
    tl.store(h + i[:, None] * SIDE + i[None, :], (1 - 2 * k).to(tl.bfloat16))


@triton.jit
def corner(h, N: tl.constexpr):
    i = tl.arange(0, N)
    return tl.load(h + i[:, None] * SIDE + i[None, :])


@triton.jit
def rotate_quant(x, h, q, s, M, N: tl.constexpr, ROWS: tl.constexpr, HIGH: tl.constexpr, LOW: tl.constexpr):
    m = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    at = m[:, None].to(tl.int64) * N + tl.arange(0, N)[None, :]
    row = tl.load(x + at, mask=m[:, None] < M, other=0)
    y = tl.dot(tl.reshape(row, (ROWS * HIGH, LOW)), corner(h, LOW))
    if HIGH > 1:
        y = tl.permute(tl.reshape(y.to(tl.bfloat16), (ROWS, HIGH, LOW)), (0, 2, 1))
        y = tl.dot(tl.reshape(y, (ROWS * LOW, HIGH)), corner(h, HIGH))
        y = tl.permute(tl.reshape(y, (ROWS, LOW, HIGH)), (0, 2, 1))
    y = tl.reshape(y, (ROWS, N))
    # y lacks the factor 1/sqrt(N): only the row's largest value gets it
    root: tl.constexpr = N ** 0.5
    scale = tl.maximum(tl.max(tl.abs(y), axis=1) / root, 1e-8) / 448.0
    tl.store(q + at, (y / (scale * root)[:, None]).to(tl.float8e4nv), mask=m[:, None] < M)
    tl.store(s + m, scale, mask=m < M)


def run(x, q, s):
    M, N = x.shape
    h = d2k.empty((128, 128), d2k.bfloat16)
    write_matrix[(1,)](h)
    high, low = {128: (1, 128), 256: (16, 16), 512: (16, 32), 1024: (32, 32), 2048: (32, 64), 4096: (64, 64),
                 8192: (128, 64)}[N]
    rows = 8192 // N
    rotate_quant[(d2k.cdiv(M, rows),)](x, h, q, s, M, N, ROWS=rows, HIGH=high, LOW=low, num_warps=8)
