"""TODO: the design that the guidance describes, as near to the hardware's limit as can be. Here: whole rows stay on the chip
from load to store."""
import triton
import triton.language as tl
import d2k

LOG2E = 1.4426950408889634


@triton.jit
def softmax_rows(x, y, R, C, factor, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    c = tl.arange(0, BLOCK)[None, :]
    i = r.to(tl.int64) * C + c
    mask = (r < R) & (c < C)
    v = tl.load(x + i, mask=mask, other=-float("inf")).to(tl.float32)
    # rows past the end are of no use, but must not make NaN
    v = tl.where(r < R, v, 0.0) * factor
    e = tl.exp2(v - tl.max(v, axis=1)[:, None])
    inverse = 1.0 / tl.sum(e, axis=1)
    tl.store(y + i, e * inverse[:, None], mask=mask)


def run(x, y, *, scale):
    R, C = x.shape
    BLOCK = triton.next_power_of_2(C)
    ROWS = max(1, 4096 // BLOCK)
    softmax_rows[(d2k.cdiv(R, ROWS), )](x, y, R, C, scale * LOG2E, ROWS=ROWS, BLOCK=BLOCK, num_warps=8)
