"""One pass: rows stay on chip from x to their codes, and H_N is applied as small factors on the tensor cores.

A row of up to 4096 channels, channel = 64 * high + low, is a matrix X of N / 64 rows, and its rotation is Y = H X H
with H_{N/64} from the left and H_64 from the right. Short rows are stacked to a tile of 64 x 64, and the left factor
becomes block-diagonal. X is the right operand of the first product, and the result is the left operand of the second
one as it lies in registers, so nothing crosses between threads in between. Rows of 8192 are two such tiles, rows of
128 two halves of 64; the sum and the difference of their results make the last factor.
"""
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor
import d2k

SIDE = tl.constexpr(64)
PROGRAMS_PER_SM, STAGES = {1: 5, 2: 3}, {1: 3, 2: 3}        # by the number of halves


@triton.jit
def signs(i, j):
    """Entries (-1)^popcount(i & j) of the Hadamard matrix; i and j are below 64."""
    k = i[:, None] & j[None, :]
    k = k ^ (k >> 4)
    k = k ^ (k >> 2)
    k = k ^ (k >> 1)
    return 1 - 2 * (k & 1)


@triton.jit
def held_columns():
    """Column 8 a + 2 b + c of a product is made column 16 b + 2 a + c of the tile: so a thread, which has those of one
    b, has 16 neighbours."""
    c = tl.arange(0, SIDE)
    return c // 2 % 4 * 16 + c // 8 * 2 + c % 2


@triton.jit
def store_codes(to, y, lines, stride):
    """Stores a tile whose columns are in the order of held_columns, each thread what it holds: the axes only get other
    names. `to` is the tile's first code, `lines` how many of its rows there are."""
    codes = tl.permute(tl.reshape(y.to(tl.float8e4nv), (4, 2, 8, 8, 4, 2)), (1, 0, 2, 4, 3, 5))
    codes = tl.reshape(codes, (2, 4, 8, SIDE))
    a = tl.arange(0, 2)[:, None, None, None]
    b = tl.arange(0, 4)[None, :, None, None]
    c = tl.arange(0, 8)[None, None, :, None]
    row = b * 16 + a * 8 + c
    tl.store(to + row * stride + tl.arange(0, SIDE)[None, None, None, :], codes, mask=row < lines)


@triton.jit
def size(y):
    return tl.max(tl.abs(y), axis=1)


@triton.jit
def scales(amax, N: tl.constexpr):
    """Of unnormalised sums: their rows' scales, and what to multiply them with to make codes."""
    norm: tl.constexpr = 1.0 / N ** 0.5
    scale = tl.maximum(amax * norm, 1e-8) * (1.0 / 448.0)
    return scale, norm / scale


@triton.jit
def hadamard_quant(tile_in, q, s, M, N: tl.constexpr, HALVES: tl.constexpr, WIDTH: tl.constexpr, STAGES: tl.constexpr):
    HIGH: tl.constexpr = N // WIDTH // (2 if WIDTH == SIDE and HALVES == 2 else 1)      # lines of a row in a tile
    GROUP: tl.constexpr = SIDE // HIGH                                                  # rows of x in a tile
    i = tl.arange(0, SIDE)
    right = signs(i, held_columns()).to(tl.bfloat16)
    # H_HIGH, as often as it fits on the diagonal
    left = tl.where(i[:, None] // HIGH == i[None, :] // HIGH, signs(i % HIGH, i % HIGH), 0).to(tl.bfloat16)

    for tile in tl.range(tl.program_id(0), tl.cdiv(M, GROUP), tl.num_programs(0), num_stages=STAGES):
        first = tile.to(tl.int64) * (GROUP * N)
        lines = (M - tile * GROUP) * HIGH
        if WIDTH == 128:            # a line is a row: [64, 128]
            a = tl.dot(tile_in.load([tile * SIDE, 0]), right)
            b = tl.dot(tile_in.load([tile * SIDE, SIDE]), right)
        elif HALVES == 2:           # a row is two tiles
            u = tl.dot(left, tile_in.load([tile * (2 * SIDE), 0])).to(tl.bfloat16)
            v = tl.dot(left, tile_in.load([tile * (2 * SIDE) + SIDE, 0])).to(tl.bfloat16)
            a = tl.dot(u, right)
            b = tl.dot(v, right)
        else:
            u = tl.dot(left, tile_in.load([tile * SIDE, 0])).to(tl.bfloat16)
            a = tl.dot(u, right)
        if HALVES == 2:
            y = a + b
            z = a - b
            amax = tl.maximum(size(y), size(z))
        else:
            y = a
            amax = size(y)

        if GROUP == 1:
            scale, inverse = scales(tl.max(amax, axis=0), N)
            tl.store(s + tile, scale)
            rows = inverse
        else:
            scale, inverse = scales(tl.max(tl.reshape(amax, (GROUP, HIGH)), axis=1), N)
            g = tile * GROUP + tl.arange(0, GROUP)
            tl.store(s + g, scale, mask=g < M)
            rows = tl.reshape(tl.broadcast_to(inverse[:, None], (GROUP, HIGH)), (SIDE,))[:, None]
        store_codes(q + first, y * rows, lines, WIDTH)
        if HALVES == 2:
            store_codes(q + first + (SIDE if WIDTH == 128 else SIDE * SIDE), z * rows, lines, WIDTH)


def run(x, q, s):
    M, N = x.shape
    halves = 2 if N in (128, 8192) else 1
    width = 128 if N == 128 else 64
    tiles = d2k.cdiv(M, max(1, 4096 // N)) if N > 128 else d2k.cdiv(M, 64)
    programs = min(tiles, PROGRAMS_PER_SM[halves] * d2k.num_sms())
    lines = TensorDescriptor(x, [M * N // width, width], [width, 1], [64, 64])
    hadamard_quant[(programs,)](lines, q, s, M, N, HALVES=halves, WIDTH=width, STAGES=STAGES[halves], num_warps=4)
