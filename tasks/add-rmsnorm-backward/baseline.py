"""Two passes: one over rows makes dx, one over bands of rows partial column sums, which a third kernel adds up."""
import triton
import triton.language as tl
import d2k


@triton.autotune(configs=[triton.Config({}, num_warps=w) for w in (4, 8, 16)], key=["M", "N"])
@triton.jit
def row_gradient(dy, ds_out, s, rstd, w, dx, M, N, BLOCK: tl.constexpr):
    m = tl.program_id(0).to(tl.int64)
    n = tl.arange(0, BLOCK)
    inside = n < N
    g = tl.load(dy + m * N + n, mask=inside, other=0.0).to(tl.float32)
    g *= tl.load(w + n, mask=inside, other=0.0).to(tl.float32)
    x = tl.load(s + m * N + n, mask=inside, other=0.0).to(tl.float32)
    through = tl.load(ds_out + m * N + n, mask=inside, other=0.0).to(tl.float32)
    r = tl.load(rstd + m)
    c = tl.sum(g * x, axis=0) / N
    tl.store(dx + m * N + n, r * (g - x * (r * r * c)) + through, mask=inside)


@triton.autotune(configs=[triton.Config({"ROWS": r, "COLS": c}, num_warps=w)
                          for r, c, w in ((16, 128, 4), (32, 128, 4), (16, 256, 4), (32, 256, 8))], key=["M", "N"])
@triton.jit
def weight_partials(dy, s, rstd, partials, M, N, BAND, ROWS: tl.constexpr, COLS: tl.constexpr):
    n = tl.program_id(0) * COLS + tl.arange(0, COLS)
    begin = tl.program_id(1) * BAND
    end = min(begin + BAND, M)
    acc = tl.zeros((ROWS, COLS), tl.float32)
    for first in range(begin, end, ROWS):
        m = (first + tl.arange(0, ROWS)).to(tl.int64)
        inside = (m < end)[:, None] & (n < N)[None, :]
        at = m[:, None] * N + n[None, :]
        r = tl.load(rstd + m, mask=m < end, other=0.0)
        g = tl.load(dy + at, mask=inside, other=0.0).to(tl.float32)
        x = tl.load(s + at, mask=inside, other=0.0).to(tl.float32)
        acc += g * x * r[:, None]
    tl.store(partials + tl.program_id(1) * N + n, tl.sum(acc, axis=0), mask=n < N)


@triton.jit
def add_partials(partials, dw, count, N, ROWS: tl.constexpr, COLS: tl.constexpr):
    n = tl.program_id(0) * COLS + tl.arange(0, COLS)
    acc = tl.zeros((ROWS, COLS), tl.float32)
    for first in range(0, count, ROWS):
        k = first + tl.arange(0, ROWS)
        inside = (k < count)[:, None] & (n < N)[None, :]
        acc += tl.load(partials + k[:, None] * N + n[None, :], mask=inside, other=0.0)
    tl.store(dw + n, tl.sum(acc, axis=0), mask=n < N)


def run(dy, ds_out, s, rstd, w, dx, dw):
    M, N = dy.shape
    row_gradient[(M,)](dy, ds_out, s, rstd, w, dx, M, N, BLOCK=d2k.next_power_of_2(N))
    band = 256
    count = d2k.cdiv(M, band)
    partials = d2k.empty((count, N), d2k.float32)
    weight_partials[lambda c: (d2k.cdiv(N, c["COLS"]), count)](dy, s, rstd, partials, M, N, band)
    add_partials[(d2k.cdiv(N, 32),)](partials, dw, count, N, ROWS=32, COLS=32, num_warps=4)
