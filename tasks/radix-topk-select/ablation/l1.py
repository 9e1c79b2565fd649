"""Selection by digits, survivors of a bound from a sample only, and no scores for rows that win whole. One program
to a row; the list of survivors is read again for each digit, and once more to write the winners."""
import triton
import triton.language as tl
import d2k

KEEP = tl.constexpr(2048)
DIGIT = tl.constexpr(11)
BINS = tl.constexpr(2048)
SAMPLE = tl.constexpr(2048)
TILE = tl.constexpr(4096)


@triton.jit
def keys(x):
    """Unsigned numbers in the order of the floats, in 64 bits."""
    bits = x.to(tl.int32, bitcast=True)
    return (bits ^ ((bits >> 31) & 0x7fffffff)).to(tl.int64) + 2147483648


@triton.jit
def pick(h, need):
    """The bin in which the need-th from above lies, and how many lie above it."""
    upto = tl.cumsum(h, 0, reverse=True)
    bin = tl.sum((upto >= need).to(tl.int32)) - 1
    return bin, tl.sum(tl.where(tl.arange(0, BINS) > bin, h, 0))


@triton.jit
def find_bounds(score, lens, bounds, N):
    """A key for each row that the last winner hardly ever lies below: five standard deviations below the winners'
    share of a sample, to 22 bits."""
    b = tl.program_id(0).to(tl.int64)
    n = tl.load(lens + b)
    bound = tl.zeros((), tl.int64)
    if n > TILE:
        s = tl.arange(0, SAMPLE)
        u = keys(tl.load(score + b * N + (s // 4 * n) // (SAMPLE // 4) // 4 * 4 + s % 4))
        share = SAMPLE * KEEP / n.to(tl.float32)
        want = tl.minimum(share + 5.0 * tl.sqrt(share) + 4.0, SAMPLE).to(tl.int32)
        first, above = pick(tl.histogram((u >> 21).to(tl.int32), BINS), want)
        second = tl.histogram(((u >> 10) & 2047).to(tl.int32), BINS, mask=(u >> 21) == first)
        bin, above = pick(second, want - above)
        bound = ((first << 11) | bin).to(tl.int64) << 10
    tl.store(bounds + b, bound)


@triton.jit
def write_found(row, n, bound, found):
    """The indices of all scores from the bound on, in order; how many there are."""
    total = tl.zeros((), tl.int32)
    for start in range(0, n, TILE):
        i = start + tl.arange(0, TILE)
        keep = (keys(tl.load(row + i, mask=i < n, other=0.0)) >= bound) & (i < n)
        tl.store(found + total + tl.cumsum(keep.to(tl.int32), 0) - 1, i, mask=keep)
        total += tl.sum(keep.to(tl.int32))
    return total


@triton.jit
def load_found(row, found, start, total):
    j = start + tl.arange(0, TILE)
    i = tl.load(found + j, mask=j < total, other=0)
    u = keys(tl.load(row + i, mask=j < total, other=0.0))
    return i, tl.where(j < total, u, -1)


@triton.jit
def select_found(row, found, total, out):
    prefix = tl.zeros((), tl.int64)
    shift = tl.full((), 32, tl.int32)
    need = tl.full((), KEEP, tl.int32)
    while shift > 0:
        lower = tl.maximum(shift - DIGIT, 0)
        h = tl.zeros((BINS,), tl.int32)
        for start in range(0, total, TILE):
            i, u = load_found(row, found, start, total)
            digit = (u >> lower) & ((1 << (shift - lower)) - 1)
            h += tl.histogram(digit.to(tl.int32), BINS, mask=(u >> shift) == prefix)
        bin, above = pick(h, need)
        prefix = (prefix << (shift - lower)) | bin
        need -= above
        shift = lower
    written = tl.zeros((), tl.int32)
    for start in range(0, total, TILE):
        i, u = load_found(row, found, start, total)
        equal = u == prefix
        win = (u > prefix) | (equal & (tl.cumsum(equal.to(tl.int32), 0) <= need))
        tl.store(out + written + tl.cumsum(win.to(tl.int32), 0) - 1, i, mask=win)
        written += tl.sum(win.to(tl.int32))
        need -= tl.sum(equal.to(tl.int32))


@triton.jit
def select(score, lens, idx, found, bounds, N):
    b = tl.program_id(0).to(tl.int64)
    n = tl.load(lens + b)
    row = score + b * N
    found += b * N
    out = idx + b * KEEP
    if n <= KEEP:
        k = tl.arange(0, KEEP)
        tl.store(out + k, tl.where(k < n, k, -1))
    else:
        total = write_found(row, n, tl.load(bounds + b), found)
        if total < KEEP:
            total = write_found(row, n, 0, found)
        tl.debug_barrier()
        select_found(row, found, total, out)


def run(score, lens, idx):
    B, N = score.shape
    bounds = d2k.empty(B, d2k.int64)
    found = d2k.empty((B, N), d2k.int32)
    find_bounds[(B,)](score, lens, bounds, N, num_warps=8)
    select[(B,)](score, lens, idx, found, bounds, N, num_warps=8)
