"""Selection by digits, survivors of a bound from a sample only, and no scores for rows that win whole. One program
to a row; lists and rows are read again for each digit."""
import triton
import triton.language as tl
import d2k

KEEP = tl.constexpr(2048)
DIGIT = tl.constexpr(11)
BINS = tl.constexpr(2048)
SAMPLE = tl.constexpr(2048)
SMALL = tl.constexpr(4096)
LARGE = tl.constexpr(8192)
RUN = tl.constexpr(16)


@triton.jit
def ordered(x):
    """Signed integers in the order of the floats."""
    bits = x.to(tl.int32, bitcast=True)
    return bits ^ ((bits >> 31) & 0x7fffffff)


@triton.jit
def unsigned(key):
    return (key ^ -2147483648).to(tl.uint32, bitcast=True)


@triton.jit
def load_keys(row, start, n, TILE: tl.constexpr, ALIGNED: tl.constexpr):
    """Keys from start on, the lowest integer behind the end of the row. Aligned rows are loaded in whole vectors."""
    i = start + tl.arange(0, TILE)
    limit = n
    if ALIGNED:
        limit = (n + 3) // 4 * 4
    key = ordered(tl.load(row + i, mask=i < limit, other=0.0))
    return tl.where(i < n, key, -2147483648)


@triton.jit
def sums_upto(x, REVERSE: tl.constexpr = False):
    """Running totals of a flat tile, first within runs of neighbours, then over the runs."""
    T: tl.constexpr = x.shape[0]
    x = tl.reshape(x, (T // RUN, RUN))
    runs = tl.sum(x, 1)
    before = tl.cumsum(runs, 0, reverse=REVERSE) - runs
    return tl.reshape(tl.cumsum(x, 1, reverse=REVERSE) + before[:, None], (T,))


@triton.jit
def pick(h, need):
    """The bin in which the need-th from above lies, how many lie above this bin, and how many in it."""
    upto = sums_upto(h, True)
    above = upto - h
    here = (upto >= need) & (above < need)
    bin = tl.arange(0, BINS).to(tl.int64)
    packed = tl.sum(tl.where(here, (bin << 48) | (above.to(tl.int64) << 24) | h.to(tl.int64), 0))
    return (packed >> 48).to(tl.int32), ((packed >> 24) & 0xffffff).to(tl.int32), (packed & 0xffffff).to(tl.int32)


@triton.jit
def find(u, need, shift, STOP: tl.constexpr):
    """Leading bits of the need-th largest: u >> shift of it. The first digit begins at the shift that is given. Ends
    early when the whole bin is wanted, or when no more than STOP bits are left. Also how many are wanted of the bin."""
    h = tl.histogram((u >> shift.to(tl.uint32)).to(tl.int32), BINS)
    prefix, above, count = pick(h, need)
    need -= above
    while (shift > STOP) & (need < count):
        lower = tl.maximum(shift - DIGIT, 0)
        inside = (u >> shift.to(tl.uint32)).to(tl.int32) == prefix
        digit = (u >> lower.to(tl.uint32)).to(tl.int32) & ((1 << (shift - lower)) - 1)
        bin, above, count = pick(tl.histogram(digit, BINS, mask=inside), need)
        prefix = (prefix << (shift - lower)) | bin
        need -= above
        shift = lower
    return prefix, shift, need


@triton.jit
def sample_bound(row, n):
    """A key that the last winner hardly ever lies below: an order statistic of groups of four scores at even
    distances, five standard deviations lower than the winners' share of the row."""
    s = tl.arange(0, SAMPLE)
    at = (s // 4 * n) // (SAMPLE // 4) // 4 * 4 + s % 4
    u = unsigned(ordered(tl.load(row + at)))
    share = SAMPLE * KEEP / n.to(tl.float32)
    want = tl.minimum(share + 5.0 * tl.sqrt(share) + 4.0, SAMPLE).to(tl.int32)
    prefix, shift, need = find(u, want, tl.full((), 21, tl.int32), 10)
    return (prefix << shift) ^ -2147483648


@triton.jit
def take_all(n, out):
    k = tl.arange(0, KEEP)
    tl.store(out + k, tl.where(k < n, k, -1))


@triton.jit
def write_found(row, n, bound, found, ALIGNED: tl.constexpr):
    """The indices of all scores from the bound on, in order; how many there are."""
    total = tl.zeros((), tl.int32)
    for start in range(0, n, SMALL):
        keep = load_keys(row, start, n, SMALL, ALIGNED) >= bound
        tl.store(found + total + sums_upto(keep.to(tl.int32)) - 1, start + tl.arange(0, SMALL), mask=keep)
        total += tl.sum(keep.to(tl.int32))
    return total


@triton.jit
def load_listed(row, found, start, total, bound):
    j = start + tl.arange(0, SMALL)
    i = tl.load(found + j, mask=j < total, other=0)
    key = ordered(tl.load(row + i, mask=j < total, other=0.0))
    return i, tl.where(j < total, key - bound + 1, 0).to(tl.uint32, bitcast=True).to(tl.int64)


@triton.jit
def select_listed(row, found, total, bound, out):
    """Digit by digit; the list is read again for each digit, and once more to write the winners."""
    prefix = tl.zeros((), tl.int64)
    shift = tl.full((), 32, tl.int32)
    need = tl.full((), KEEP, tl.int32)
    count = total
    while (shift > 0) & (need < count):
        lower = tl.maximum(shift - DIGIT, 0)
        h = tl.zeros((BINS,), tl.int32)
        for start in range(0, total, SMALL):
            i, u = load_listed(row, found, start, total, bound)
            digit = (u >> lower) & ((1 << (shift - lower)) - 1)
            h += tl.histogram(digit.to(tl.int32), BINS, mask=(u > 0) & ((u >> shift) == prefix))
        bin, above, count = pick(h, need)
        prefix = (prefix << (shift - lower)) | bin
        need -= above
        shift = lower
    written = tl.zeros((), tl.int32)
    for start in range(0, total, SMALL):
        i, u = load_listed(row, found, start, total, bound)
        above = ((u >> shift) > prefix) & (u > 0)
        equal = ((u >> shift) == prefix) & (u > 0)
        ranks = sums_upto(above.to(tl.int32) + (equal.to(tl.int32) << 16))
        ties = ranks >> 16
        win = above | (equal & (ties <= need))
        tl.store(out + written + (ranks & 0xffff) + tl.minimum(ties, need) - 1, i, mask=win)
        written += tl.sum(win.to(tl.int32))
        need -= tl.minimum(tl.sum(equal.to(tl.int32)), need)


@triton.jit
def select(score, lens, idx, found, N, ALIGNED: tl.constexpr):
    b = tl.program_id(0).to(tl.int64)
    n = tl.load(lens + b)
    row = score + b * N
    found += b * N
    out = idx + b * KEEP
    if n <= KEEP:
        take_all(n, out)
    else:
        bound = tl.full((), -2147483647, tl.int32)
        if n > SMALL:
            bound = sample_bound(row, n)
        total = write_found(row, n, bound, found, ALIGNED)
        if total < KEEP:
            bound = tl.full((), -2147483647, tl.int32)
            total = write_found(row, n, bound, found, ALIGNED)
        tl.debug_barrier()
        select_listed(row, found, total, bound, out)


def run(score, lens, idx):
    B, N = score.shape
    found = d2k.empty((B, N), d2k.int32)
    select[(B,)](score, lens, idx, found, N, ALIGNED=N % 16 == 0, num_warps=8)
