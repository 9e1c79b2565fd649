"""The threshold by digits: a histogram of the leading bits says in which bin the last winner lies, and only what lies
in that bin is looked at again, by the next bits.

A short row is loaded once and stays in registers. A long row is cut into chunks, one program each. A sample of the row
gives a bound that the last winner hardly ever lies below; each program reads its chunk once and writes down what is not
below the bound, in order of index. A second launch, a program for each row, finds the winners among these few. It also
sees if the sample misled the first, and then goes over the whole row. Rows of at most 2048 scores need no scores.
"""
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
def collect(u, i, prefix, shift, need, out):
    """Writes the indices i of all above the bin, and of the first that lie in it, in their order."""
    top = u >> shift.to(tl.uint32)
    last = prefix.to(tl.uint32, bitcast=True)
    above = top > last
    equal = top == last
    ranks = sums_upto(above.to(tl.int32) + (equal.to(tl.int32) << 16))
    ties = ranks >> 16
    win = above | (equal & (ties <= need))
    tl.store(out + (ranks & 0xffff) + tl.minimum(ties, need) - 1, i, mask=win)


@triton.jit
def select_row(row, n, out, TILE: tl.constexpr, ALIGNED: tl.constexpr):
    u = unsigned(load_keys(row, 0, n, TILE, ALIGNED))
    prefix, shift, need = find(u, KEEP, tl.full((), 21, tl.int32), 0)
    collect(u, tl.arange(0, TILE), prefix, shift, need, out)


@triton.jit
def take_all(n, out):
    k = tl.arange(0, KEEP)
    tl.store(out + k, tl.where(k < n, k, -1))


@triton.jit
def short_rows(score, lens, idx, B, N, ALIGNED: tl.constexpr):
    b = B - 1 - tl.program_id(0)
    n = tl.load(lens + b)
    row = score + b.to(tl.int64) * N
    out = idx + b.to(tl.int64) * KEEP
    if n <= KEEP:
        take_all(n, out)
    elif n <= SMALL:
        select_row(row, n, out, SMALL, ALIGNED)
    else:
        select_row(row, n, out, LARGE, ALIGNED)


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
def select_found(row, found, counts, parts, total, bound, out, CHUNK: tl.constexpr, CHUNKS: tl.constexpr,
                 TILE: tl.constexpr):
    """The winners among the indices that the chunks left, each at the beginning of its part of the workspace."""
    j = tl.arange(0, TILE)
    at = j
    begin = tl.zeros((), tl.int32)
    for part in tl.static_range(CHUNKS):
        at = tl.where(j >= begin, j + (part * CHUNK - begin), at)
        begin += tl.load(counts + part, mask=part < parts, other=0, cache_modifier=".cg")
    i = tl.load(found + at, mask=j < total, other=0, cache_modifier=".cg")
    key = ordered(tl.load(row + i, mask=j < total, other=0.0))
    u = tl.where(j < total, key - bound + 1, 0).to(tl.uint32, bitcast=True)
    top = tl.max(u).to(tl.float32).to(tl.int32, bitcast=True)
    shift = tl.maximum((top >> 23) - 126 - DIGIT, 0)
    prefix, shift, need = find(u, KEEP, shift, 0)
    collect(u, i, prefix, shift, need, out)


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
            u = load_keys(row, start, n, SMALL, False).to(tl.int64) + 2147483648
            digit = (u >> lower) & ((1 << (shift - lower)) - 1)
            h += tl.histogram(digit.to(tl.int32), BINS, mask=(i < n) & ((u >> shift) == prefix))
        bin, above, count = pick(h, need)
        prefix = (prefix << (shift - lower)) | bin
        need -= above
        shift = lower
    written = tl.zeros((), tl.int32)
    for start in range(0, n, SMALL):
        i = start + tl.arange(0, SMALL)
        top = (load_keys(row, start, n, SMALL, False).to(tl.int64) + 2147483648) >> shift
        above = (top > prefix) & (i < n)
        equal = (top == prefix) & (i < n)
        ranks = sums_upto(above.to(tl.int32) + (equal.to(tl.int32) << 16))
        ties = ranks >> 16
        win = above | (equal & (ties <= need))
        tl.store(out + written + (ranks & 0xffff) + tl.minimum(ties, need) - 1, i, mask=win)
        written += tl.sum(win.to(tl.int32))
        need -= tl.minimum(tl.sum(equal.to(tl.int32)), need)


@triton.jit
def long_rows(score, lens, idx, found, counts, bounds, N, CHUNK: tl.constexpr, CHUNKS: tl.constexpr,
              TILE: tl.constexpr, ALIGNED: tl.constexpr):
    b = tl.program_id(0).to(tl.int64)
    chunk = tl.program_id(1)
    n = tl.load(lens + b)
    row = score + b * N
    out = idx + b * KEEP
    found += b * CHUNKS * CHUNK
    counts += b * CHUNKS
    if n <= KEEP:
        if chunk == 0:
            take_all(n, out)
    elif chunk * CHUNK < n:
        parts = (n + CHUNK - 1) // CHUNK
        key = load_keys(row, chunk * CHUNK, n, TILE, ALIGNED)
        bound = tl.full((), -2147483647, tl.int32)
        if n > SMALL:
            bound = sample_bound(row, n)
        kept = tl.zeros((), tl.int32)
        for start in range(chunk * CHUNK, tl.minimum((chunk + 1) * CHUNK, n), TILE):
            if start > chunk * CHUNK:
                key = load_keys(row, start, n, TILE, ALIGNED)
            keep = key >= bound
            place = sums_upto(keep.to(tl.int32))
            tl.store(found + chunk * CHUNK + kept + place - 1, start + tl.arange(0, TILE), mask=keep)
            kept += tl.sum(keep.to(tl.int32))
        tl.store(counts + chunk, kept)
        tl.store(bounds + b, bound)


@triton.jit
def finish(score, lens, idx, found, counts, bounds, N, CHUNK: tl.constexpr, CHUNKS: tl.constexpr):
    b = tl.program_id(0).to(tl.int64)
    n = tl.load(lens + b)
    row = score + b * N
    out = idx + b * KEEP
    found += b * CHUNKS * CHUNK
    counts += b * CHUNKS
    if n > KEEP:
        parts = (n + CHUNK - 1) // CHUNK
        bound = tl.load(bounds + b)
        part = tl.arange(0, triton.next_power_of_2(CHUNKS))
        total = tl.sum(tl.load(counts + part, mask=part < parts, other=0, cache_modifier=".cg"))
        if (total < KEEP) | (total > LARGE):
            select_streamed(row, n, out)
        elif total <= SMALL:
            select_found(row, found, counts, parts, total, bound, out, CHUNK, CHUNKS, SMALL)
        else:
            select_found(row, found, counts, parts, total, bound, out, CHUNK, CHUNKS, LARGE)


def run(score, lens, idx):
    B, N = score.shape
    aligned = N % 16 == 0
    if N <= 8192:
        short_rows[(B,)](score, lens, idx, B, N, ALIGNED=aligned, num_warps=16, maxnreg=64)
        return
    chunk = 16384
    chunks = d2k.cdiv(N, chunk)
    found = d2k.empty(B * chunks * chunk, d2k.int32)
    counts = d2k.empty(B * chunks, d2k.int32)
    bounds = d2k.empty(B, d2k.int32)
    long_rows[(B, chunks)](score, lens, idx, found, counts, bounds, N, CHUNK=chunk, CHUNKS=chunks, TILE=4096,
                           ALIGNED=aligned, num_warps=16, maxnreg=64)
    finish[(B,)](score, lens, idx, found, counts, bounds, N, CHUNK=chunk, CHUNKS=chunks, num_warps=16)
