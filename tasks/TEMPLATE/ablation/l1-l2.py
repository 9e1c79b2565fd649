"""TODO: the L1 and L2 items. Here: the same as l1.py, since a row that is read once is on the chip already: a row
is read once, the exponentials are of base e, and each element is divided."""
import triton
import triton.language as tl


@triton.jit
def softmax_row(x, y, C, scale, BLOCK: tl.constexpr):
    c = tl.arange(0, BLOCK)
    i = tl.program_id(0).to(tl.int64) * C + c
    v = tl.load(x + i, mask=c < C, other=-float("inf")).to(tl.float32) * scale
    e = tl.exp(v - tl.max(v))
    tl.store(y + i, e / tl.sum(e), mask=c < C)


def run(x, y, *, scale):
    R, C = x.shape
    softmax_row[(R, )](x, y, C, scale, BLOCK=triton.next_power_of_2(C), num_warps=4)
