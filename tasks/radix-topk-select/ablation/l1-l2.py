"""The expert's steps with a row or its survivors kept on chip between digits, and one program to a row of any
length."""
import triton
import triton.language as tl
import d2k

KEEP = tl.constexpr(2048)
DIGIT = tl.constexpr(11)
BINS = tl.constexpr(2048)
SAMPLE = tl.constexpr(2048)
SMALL = tl.constexpr(4096)
LARGE = tl.constexpr(8192)


@triton.jit
def ordered(x):
    """Signed integers in the order of the floats."""
    bits = x.to(tl.int32, bitcast=True)
    return bits ^ ((bits >> 31) & 0x7fffffff)


@triton.jit
def unsigned(key):
    return (key ^ -2147483648).to(tl.uint32, bitcast=True)


@triton.jit
def load_keys(row, start, n, TILE: tl.constexpr):
    """Keys from start on, the lowest integer behind the end of the row."""
    i = start + tl.arange(0, TILE)
    key = ordered(tl.load(row + i, mask=i < n, other=0.0))
    return tl.where(i < n, key, -2147483648)


@triton.jit
def pick(h, need):
    """The bin in which the need-th from above lies, how many lie above this bin, and how many in it."""
    upto = tl.cumsum(h, 0, reverse=True)
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
def collect(u, i, prefix, shift, need, out):
    """Writes the indices i of all above the bin, and of the first that lie in it, in their order."""
    top = u >> shift.to(tl.uint32)
    last = prefix.to(tl.uint32, bitcast=True)
    above = top > last
    equal = top == last
    ties = tl.cumsum(equal.to(tl.int32), 0)
    win = above | (equal & (ties <= need))
    tl.store(out + tl.cumsum(win.to(tl.int32), 0) - 1, i, mask=win)


@triton.jit
def select_row(row, n, out, TILE: tl.constexpr):
    u = unsigned(load_keys(row, 0, n, TILE))
    prefix, shift, need = find(u, KEEP, tl.full((), 21, tl.int32), 0)
    collect(u, tl.arange(0, TILE), prefix, shift, need, out)


@triton.jit
def take_all(n, out):
    k = tl.arange(0, KEEP)
    tl.store(out + k, tl.where(k < n, k, -1))


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
def select_streamed(row, n, out):
    """The same for a row of any length and content, which is read again for each digit."""
    prefix = tl.zeros((), tl.int64)
    shift = tl.full((), 32, tl.int32)
    need = tl.full((), KEEP, tl.int32)
    count = n
    while (shift > 0) & (need < count):
        lower = tl.maximum(shift - DIGIT, 0)
        h = tl.zeros((BINS,), tl.int32)
        for start in range(0, n, SMALL):
            i = start + tl.arange(0, SMALL)
            u = load_keys(row, start, n, SMALL).to(tl.int64) + 2147483648
            digit = (u >> lower) & ((1 << (shift - lower)) - 1)
            h += tl.histogram(digit.to(tl.int32), BINS, mask=(i < n) & ((u >> shift) == prefix))
        bin, above, count = pick(h, need)
        prefix = (prefix << (shift - lower)) | bin
        need -= above
        shift = lower
    written = tl.zeros((), tl.int32)
    for start in range(0, n, SMALL):
        i = start + tl.arange(0, SMALL)
        top = (load_keys(row, start, n, SMALL).to(tl.int64) + 2147483648) >> shift
        above = (top > prefix) & (i < n)
        equal = (top == prefix) & (i < n)
        ties = tl.cumsum(equal.to(tl.int32), 0)
        win = above | (equal & (ties <= need))
        tl.store(out + written + tl.cumsum(win.to(tl.int32), 0) - 1, i, mask=win)
        written += tl.sum(win.to(tl.int32))
        need -= tl.minimum(tl.sum(equal.to(tl.int32)), need)


@triton.jit
def write_found(row, n, bound, found):
    """The indices of all scores from the bound on, in order; how many there are."""
    total = tl.zeros((), tl.int32)
    for start in range(0, n, SMALL):
        keep = load_keys(row, start, n, SMALL) >= bound
        tl.store(found + total + tl.cumsum(keep.to(tl.int32), 0) - 1, start + tl.arange(0, SMALL), mask=keep)
        total += tl.sum(keep.to(tl.int32))
    return total


@triton.jit
def select_found(row, found, total, out, TILE: tl.constexpr):
    j = tl.arange(0, TILE)
    i = tl.load(found + j, mask=j < total, other=0)
    key = ordered(tl.load(row + i, mask=j < total, other=0.0))
    u = unsigned(tl.where(j < total, key, -2147483648))
    prefix, shift, need = find(u, KEEP, tl.full((), 21, tl.int32), 0)
    collect(u, i, prefix, shift, need, out)


@triton.jit
def select_short(score, lens, idx, B, N):
    b = (B - 1 - tl.program_id(0)).to(tl.int64)
    n = tl.load(lens + b)
    if n <= KEEP:
        take_all(n, idx + b * KEEP)
    elif n <= SMALL:
        select_row(score + b * N, n, idx + b * KEEP, SMALL)
    else:
        select_row(score + b * N, n, idx + b * KEEP, LARGE)


@triton.jit
def thin(score, lens, found, totals, N):
    b = tl.program_id(0).to(tl.int64)
    n = tl.load(lens + b)
    row = score + b * N
    if n > LARGE:
        tl.store(totals + b, write_found(row, n, sample_bound(row, n), found + b * N))


@triton.jit
def select(score, lens, idx, found, totals, N):
    b = tl.program_id(0).to(tl.int64)
    n = tl.load(lens + b)
    row = score + b * N
    found += b * N
    out = idx + b * KEEP
    if n <= KEEP:
        take_all(n, out)
    elif n <= LARGE:
        select_row(row, n, out, LARGE)
    else:
        total = tl.load(totals + b)
        if (total < KEEP) | (total > LARGE):
            select_streamed(row, n, out)
        elif total <= SMALL:
            select_found(row, found, total, out, SMALL)
        else:
            select_found(row, found, total, out, LARGE)


def run(score, lens, idx):
    B, N = score.shape
    if N <= 8192:
        select_short[(B,)](score, lens, idx, B, N, num_warps=16, maxnreg=64)
        return
    found = d2k.empty((B, N), d2k.int32)
    totals = d2k.empty(B, d2k.int32)
    thin[(B,)](score, lens, found, totals, N, num_warps=8)
    select[(B,)](score, lens, idx, found, totals, N, num_warps=16)
