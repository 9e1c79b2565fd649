"""Right: one kernel walks rows in blocks twice, for the mean and for dx, and adds dw up by atomics in scratch."""
import triton
import triton.language as tl
import d2k


@triton.jit
def band(dy, ds_out, s, rstd, w, dx, sums, M, N, ROWS: tl.constexpr, COLS: tl.constexpr):
    m = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    r = tl.load(rstd + m, mask=m < M, other=0.0)[:, None]
    mean = tl.zeros((ROWS,), tl.float32)
    for first in range(0, N, COLS):
        n = first + tl.arange(0, COLS)
        inside = (m < M)[:, None] & (n < N)[None, :]
        at = m[:, None].to(tl.int64) * N + n[None, :]
        product = tl.load(dy + at, mask=inside, other=0.0).to(tl.float32) * tl.load(s + at, mask=inside, other=0.0)
        tl.atomic_add(sums + n, tl.sum(product * r, axis=0), mask=n < N)
        mean += tl.sum(product * tl.load(w + n, mask=n < N, other=0.0)[None, :], axis=1)
    mean = (mean / N)[:, None] * r * r
    for first in range(0, N, COLS):
        n = first + tl.arange(0, COLS)
        inside = (m < M)[:, None] & (n < N)[None, :]
        at = m[:, None].to(tl.int64) * N + n[None, :]
        g = tl.load(dy + at, mask=inside, other=0.0).to(tl.float32) * tl.load(w + n, mask=n < N, other=0.0)[None, :]
        x = tl.load(s + at, mask=inside, other=0.0).to(tl.float32)
        tl.store(dx + at, r * (g - x * mean) + tl.load(ds_out + at, mask=inside, other=0.0), mask=inside)


@triton.jit
def copy(sums, dw, N, COLS: tl.constexpr):
    n = tl.program_id(0) * COLS + tl.arange(0, COLS)
    tl.store(dw + n, tl.load(sums + n, mask=n < N), mask=n < N)


def run(dy, ds_out, s, rstd, w, dx, dw):
    M, N = dy.shape
    sums = d2k.zeros((N,), d2k.float32)
    band[(d2k.cdiv(M, 16),)](dy, ds_out, s, rstd, w, dx, sums, M, N, ROWS=16, COLS=128)
    copy[(d2k.cdiv(N, 256),)](sums, dw, N, COLS=256)
