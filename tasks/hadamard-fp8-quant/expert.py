"""One pass: rows stay on chip from x to their codes, and H_N is applied as small factors on the tensor cores.

A row of up to 4096 channels, i = 64 * high + low, is an [N / 64, 64] matrix X, and its rotation is Y = H X H with
H_{N/64} from the left and H_64 from the right. Rows shorter than 4096 are stacked to a tile of 64 x 64, and the left
factor becomes block-diagonal. X is the right operand of the first product, and its result is the left operand of the
second one as it lies in registers, so nothing crosses between threads in between. Rows of 8192 are two tiles, rows of
128 two halves of 64; a sum and a difference of their results make the last factor.
"""
import triton
import triton.language as tl
import d2k

SIDE = tl.constexpr(64)
FLOOR = tl.constexpr(1e-8)
FP8_MAX = tl.constexpr(448.0)


@triton.jit
def signs(i, j):
    """Entries (-1)^popcount(i & j) of the Hadamard matrix; i and j are below 64."""
    k = i[:, None] & j[None, :]
    k = k ^ (k >> 4)
    k = k ^ (k >> 2)
    k = k ^ (k >> 1)
    return (1 - 2 * (k & 1)).to(tl.bfloat16)


@triton.jit
def own_rows(y):
    """Tile rows in the order in which threads hold them, back to their own order: see `row_order`."""
    return tl.reshape(tl.permute(tl.reshape(y, (4, 2, 8, SIDE)), (1, 0, 2, 3)), (SIDE, SIDE))


@triton.jit
def own_columns(y):
    return tl.reshape(tl.permute(tl.reshape(y, (SIDE, 8, 4, 2)), (0, 2, 1, 3)), (SIDE, SIDE))


@triton.jit
def column_order():
    """Column 8 a + 2 b + c of the product holds column 16 b + 2 a + c of the tile: a thread has 16 neighbours."""
    c = tl.arange(0, SIDE)
    return (c // 2 % 4) * 16 + (c // 8) * 2 + c % 2


@triton.jit
def row_order():
    """Row 16 a + 8 b + c of the product holds row 32 b + 8 a + c of the tile."""
    r = tl.arange(0, SIDE)
    return (r // 8 % 2) * 32 + (r // 16) * 8 + r % 8


@triton.jit
def hadamard_quant(x, q, s, M, N: tl.constexpr, STAGES: tl.constexpr):
    HALVES: tl.constexpr = 2 if N == 128 or N == 8192 else 1
    HIGH: tl.constexpr = 1 if N == 128 else N // (SIDE * HALVES)	# tile rows per row of x, without the halves
    GROUP: tl.constexpr = SIDE // HIGH				# rows of x in a tile
    # x as a matrix of lines of 64 channels; the halves of a row of 128 lie side by side in a line
    WIDTH: tl.constexpr = 128 if N == 128 else SIDE
    lines = (M * (N // WIDTH)).to(tl.int32)
    tile_in = tl.make_tensor_descriptor(x, [lines, WIDTH], [WIDTH, 1], [SIDE, SIDE])

    i = tl.arange(0, SIDE)
    right = signs(i, column_order())
    r = row_order()
    left = signs(r % HIGH, i % HIGH)
    left = tl.where(r[:, None] // HIGH == i[None, :] // HIGH, left, 0.0).to(tl.bfloat16)
    inverse: tl.constexpr = 1.0 / N ** 0.5

    for tile in tl.range(tl.program_id(0), tl.cdiv(M, GROUP), tl.num_programs(0), num_stages=STAGES):
        line = tile * SIDE
        pass


def run(x, q, s):
    pass
