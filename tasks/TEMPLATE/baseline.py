"""TODO: the algorithm as task.md states it, competent and unremarkable. Here: two passes over each row, the first for its
largest element and the sum, the second for the quotients."""
import triton
import triton.language as tl
import d2k


@triton.jit
def row_sums(x, largest, total, C, scale, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    m = -float("inf")
    s = 0.0
    for start in range(0, C, BLOCK):
        c = start + tl.arange(0, BLOCK)
        v = tl.load(x + row.to(tl.int64) * C + c, mask=c < C, other=-float("inf")).to(tl.float32) * scale
        high = tl.maximum(m, tl.max(v))
        s = s * tl.exp(m - high) + tl.sum(tl.exp(v - high))
        m = high
    tl.store(largest + row, m)
    tl.store(total + row, s)


@triton.jit
def divide(x, y, largest, total, C, scale, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    i = row.to(tl.int64) * C + c
    v = tl.load(x + i, mask=c < C, other=0.0).to(tl.float32) * scale
    tl.store(y + i, tl.exp(v - tl.load(largest + row)) / tl.load(total + row), mask=c < C)


def run(x, y, *, scale):
    R, C = x.shape
    largest, total = d2k.empty(R, d2k.float32), d2k.empty(R, d2k.float32)
    row_sums[(R, )](x, largest, total, C, scale, BLOCK=1024)
    divide[(R, d2k.cdiv(C, 1024))](x, y, largest, total, C, scale, BLOCK=1024)
