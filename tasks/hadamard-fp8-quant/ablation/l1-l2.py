"""One kernel: a tile of 64 x 64 holds a row, or several, and small +-1 factors made in the kernel rotate it.

A row, channel = 64 * high + low, is multiplied by H_{N/64} from the left and H_64 from the right. Short rows are
stacked, and the left factor becomes block-diagonal. The first product takes the tile as its right operand, and its
result is the left operand of the second product as it lies in registers. Rows of 8192 are two such tiles, rows of 128
two halves of 64; the sum and the difference of their results make the last factor. A program takes eight tiles.
"""
import triton
import triton.language as tl
import d2k

SIDE = tl.constexpr(64)


@triton.jit
def signs(i, j):
    """Entries (-1)^popcount(i & j) of the Hadamard matrix; i and j are below 64."""
    k = i[:, None] & j[None, :]
    k = k ^ (k >> 4)
    k = k ^ (k >> 2)
    k = k ^ (k >> 1)
    return 1 - 2 * (k & 1)


@triton.jit
def size(y):
    return tl.max(tl.abs(y), axis=1)


@triton.jit
def rotate_quant(x, q, s, M, N: tl.constexpr, HALVES: tl.constexpr, WIDTH: tl.constexpr, TILES: tl.constexpr):
    HIGH: tl.constexpr = N // WIDTH // (2 if WIDTH == SIDE and HALVES == 2 else 1)      # lines of a row in a tile
    GROUP: tl.constexpr = SIDE // HIGH                                                  # rows of x in a tile
    HALF: tl.constexpr = SIDE if WIDTH == 128 else SIDE * SIDE                          # from one half to the other
    i = tl.arange(0, SIDE)
    right = signs(i, i).to(tl.bfloat16)
    left = tl.where(i[:, None] // HIGH == i[None, :] // HIGH, signs(i % HIGH, i % HIGH), 0).to(tl.bfloat16)
    root: tl.constexpr = N ** 0.5

    for tile in tl.range(tl.program_id(0) * TILES, tl.program_id(0) * TILES + TILES, num_stages=1):
        at = tile.to(tl.int64) * (GROUP * N) + i[:, None] * WIDTH + i[None, :]
        valid = i[:, None] < (M - tile * GROUP) * HIGH
        a = tl.load(x + at, mask=valid, other=0)
        if HIGH > 1:
            a = tl.dot(left, a).to(tl.bfloat16)
        y = tl.dot(a, right)
        amax = size(y)
        if HALVES == 2:
            b = tl.load(x + at + HALF, mask=valid, other=0)
            if HIGH > 1:
                b = tl.dot(left, b).to(tl.bfloat16)
            b = tl.dot(b, right)
            z = y - b
            y = y + b
            amax = tl.maximum(size(y), size(z))

        # y lacks the factor 1/sqrt(N): only the rows' largest values get it
        scale = tl.maximum(tl.max(tl.reshape(amax, (GROUP, HIGH)), axis=1) / root, 1e-8) / 448.0
        m = tile * GROUP + tl.arange(0, GROUP)
        tl.store(s + m, scale, mask=m < M)
        divisor = tl.reshape(tl.broadcast_to((scale * root)[:, None], (GROUP, HIGH)), (SIDE,))[:, None]
        tl.store(q + at, (y / divisor).to(tl.float8e4nv), mask=valid)
        if HALVES == 2:
            tl.store(q + at + HALF, (z / divisor).to(tl.float8e4nv), mask=valid)


def run(x, q, s):
    M, N = x.shape
    halves = 2 if N in (128, 8192) else 1
    tiles = d2k.cdiv(M, max(1, 4096 // N)) if N > 128 else d2k.cdiv(M, 64)
    width = 128 if N == 128 else 64
    rotate_quant[(d2k.cdiv(tiles, 8),)](x, q, s, M, N, HALVES=halves, WIDTH=width, TILES=8, num_warps=4)
