"""One pass over the rows by programs that stay: dx leaves at once, the weight's gradient stays in registers.

As many programs as the GPU holds at a time share out the rows. A program loads its next row into registers before it
works on one, has w and its sum of dw in registers from beginning to end, and writes that sum out once. A second
kernel, which is launched before the first one ends and waits for it, adds the programs' sums in a fixed order.

A row is cut into pieces whose widths are powers of two, the largest first, so that no lanes are spent on a row rounded
up to a power of two. The pieces are tuples of tensors.
"""
import triton
import triton.language as tl
import d2k

MOST_PIECES = 3
PER_WARP = 512                  # elements of a row
WARPS_PER_SM = 16
LEAST_ROWS = 4                  # for a program, or its sums are no less than its rows


@triton.jit
def load_pieces(row, N, WIDTHS: tl.constexpr):
    """The pieces of a row as they are in memory. Only the last one may reach beyond the row."""
    pieces = ()
    for k in tl.static_range(len(WIDTHS)):
        n = tl.arange(0, WIDTHS[k][1]) + WIDTHS[k][0]
        if k + 1 == len(WIDTHS):
            pieces = pieces + (tl.load(row + n, mask=n < N, other=0.0),)
        else:
            pieces = pieces + (tl.load(row + n),)
    return pieces


@triton.jit
def store_piece(row, x, N, k: tl.constexpr, WIDTHS: tl.constexpr):
    n = tl.arange(0, WIDTHS[k][1]) + WIDTHS[k][0]
    if k + 1 == len(WIDTHS):
        tl.store(row + n, x, mask=n < N)
    else:
        tl.store(row + n, x)


@triton.jit
def rows_backward(dy, ds_out, s, rstd, w, dx, sums, M, N, WIDTHS: tl.constexpr):
    first = tl.program_id(0)
    step = tl.num_programs(0)
    weight = load_pieces(w, N, WIDTHS)
    acc = ()
    for k in tl.static_range(len(WIDTHS)):
        acc = acc + (tl.zeros((WIDTHS[k][1],), tl.float32),)
    r = tl.load(rstd + first)
    at = first.to(tl.int64) * N
    grads = load_pieces(dy + at, N, WIDTHS)
    inputs = load_pieces(s + at, N, WIDTHS)
    through = load_pieces(ds_out + at, N, WIDTHS)
    for m in tl.range(first, M, step):
        at = m.to(tl.int64) * N
        later = min(m + step, M - 1).to(tl.int64) * N       # behind the last row: any, not used
        next_grads = load_pieces(dy + later, N, WIDTHS)
        next_inputs = load_pieces(s + later, N, WIDTHS)
        next_through = load_pieces(ds_out + later, N, WIDTHS)
        next_r = tl.load(rstd + m + step, mask=m + step < M, other=0.0)
        new = ()
        c = 0.0
        for k in tl.static_range(len(WIDTHS)):
            scaled = grads[k].to(tl.float32) * (inputs[k].to(tl.float32) * r)
            new = new + (acc[k] + scaled,)          # first, so that the product need not be kept
            c += tl.sum(scaled * weight[k].to(tl.float32), axis=0)
        acc = new
        c = c / N * r
        for k in tl.static_range(len(WIDTHS)):
            g = grads[k].to(tl.float32) * weight[k].to(tl.float32)
            x = inputs[k].to(tl.float32) * r
            store_piece(dx + at, (g * r - x * c + through[k].to(tl.float32)).to(tl.bfloat16), N, k, WIDTHS)
        r = next_r
        grads = next_grads
        inputs = next_inputs
        through = next_through
    for k in tl.static_range(len(WIDTHS)):
        store_piece(sums + first * N, acc[k], N, k, WIDTHS)
    tl.extra.cuda.gdc_launch_dependents()


@triton.jit
def add_sums(sums, dw, count, N, ROWS: tl.constexpr, COLS: tl.constexpr):
    n = tl.program_id(0) * COLS + tl.arange(0, COLS)
    acc = tl.zeros((ROWS, COLS), tl.float32)
    tl.extra.cuda.gdc_wait()
    for first in range(0, count, ROWS):
        k = first + tl.arange(0, ROWS)
        inside = (k < count)[:, None] & (n < N)[None, :]
        acc += tl.load(sums + k[:, None] * N + n[None, :], mask=inside, other=0.0)
    tl.store(dw + n, tl.sum(acc, axis=0), mask=n < N)


def pieces_of(N):
    """(begin, width) of each."""
    widths, begin = [], 0
    while begin < N:
        width = d2k.next_power_of_2(N - begin)
        if width > N - begin and len(widths) + 1 < MOST_PIECES:
            width //= 2
        widths.append((begin, width))
        begin += width
    return tuple(widths)


def run(dy, ds_out, s, rstd, w, dx, dw):
    M, N = dy.shape
    warps = max(1, min(16, d2k.next_power_of_2(N) // PER_WARP))
    programs = min(d2k.cdiv(M, LEAST_ROWS), d2k.num_sms() * (WARPS_PER_SM // warps))
    sums = d2k.empty((programs, N), d2k.float32)
    rows_backward[(programs,)](dy, ds_out, s, rstd, w, dx, sums, M, N, WIDTHS=pieces_of(N), num_warps=warps)
    add_sums[(d2k.cdiv(N, 32),)](sums, dw, programs, N, ROWS=64, COLS=32, num_warps=8, launch_pdl=True)
