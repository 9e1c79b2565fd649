"""One pass makes dx and dw: a program has a band of rows, and keeps w and its sum of dw in registers all the way."""
import triton
import triton.language as tl
import d2k

BAND = 64


@triton.jit
def rows_backward(dy, ds_out, s, rstd, w, dx, sums, M, N, BAND: tl.constexpr, BLOCK: tl.constexpr):
    n = tl.arange(0, BLOCK)
    inside = n < N
    weight = tl.load(w + n, mask=inside, other=0.0).to(tl.float32)
    acc = tl.zeros((BLOCK,), tl.float32)
    begin = tl.program_id(0) * BAND
    for m in range(begin, min(begin + BAND, M)):
        at = m.to(tl.int64) * N + n
        grad = tl.load(dy + at, mask=inside, other=0.0).to(tl.float32)
        x = tl.load(s + at, mask=inside, other=0.0).to(tl.float32)
        through = tl.load(ds_out + at, mask=inside, other=0.0).to(tl.float32)
        r = tl.load(rstd + m)
        x *= r
        product = grad * x
        c = tl.sum(product * weight, axis=0) / N
        tl.store(dx + at, r * (grad * weight - x * c) + through, mask=inside)
        acc += product
    tl.store(sums + tl.program_id(0) * N + n, acc, mask=inside)


@triton.jit
def add_sums(sums, dw, count, N, ROWS: tl.constexpr, COLS: tl.constexpr):
    n = tl.program_id(0) * COLS + tl.arange(0, COLS)
    acc = tl.zeros((ROWS, COLS), tl.float32)
    for first in range(0, count, ROWS):
        k = first + tl.arange(0, ROWS)
        inside = (k < count)[:, None] & (n < N)[None, :]
        acc += tl.load(sums + k[:, None] * N + n[None, :], mask=inside, other=0.0)
    tl.store(dw + n, tl.sum(acc, axis=0), mask=n < N)


def run(dy, ds_out, s, rstd, w, dx, dw):
    M, N = dy.shape
    block = d2k.next_power_of_2(N)
    count = d2k.cdiv(M, BAND)
    sums = d2k.empty((count, N), d2k.float32)
    rows_backward[(count,)](dy, ds_out, s, rstd, w, dx, sums, M, N, BAND=BAND, BLOCK=block,
                            num_warps=max(1, min(16, block // 512)))
    add_sums[(d2k.cdiv(N, 32),)](sums, dw, count, N, ROWS=32, COLS=32, num_warps=4)
