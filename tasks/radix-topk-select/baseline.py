"""One program to a row: bisects for the score of the last winner, counting the row anew in each step, then collects."""
import triton
import triton.language as tl

KEEP = tl.constexpr(2048)
LOWEST = tl.constexpr(-2147483647)


@triton.jit
def load_keys(row, i, n, ALIGNED: tl.constexpr):
    """Integers that are ordered as the scores are; below all of them behind the end of the row."""
    limit = n
    if ALIGNED:
        limit = (n + 3) // 4 * 4
    bits = tl.load(row + i, mask=i < limit, other=0.0).to(tl.int32, bitcast=True)
    return tl.where(i < n, bits ^ ((bits >> 31) & 0x7fffffff), -2147483648)


@triton.autotune(configs=[triton.Config({"TILE": t}, num_warps=w) for t, w in ((8192, 16), (4096, 8), (4096, 16),
                                                                               (2048, 4))], key=["B", "N"])
@triton.jit
def select(score, lens, idx, B, N, TILE: tl.constexpr, ALIGNED: tl.constexpr):
    b = tl.program_id(0)
    n = tl.load(lens + b)
    row = score + b.to(tl.int64) * N
    out = idx + b.to(tl.int64) * KEEP
    want = tl.minimum(n, KEEP)

    # At least `want` keys are not below low, fewer are above high.
    low = tl.full((), -2147483647, tl.int64)
    high = tl.full((), 2147483647, tl.int64)
    found = n
    while (found != want) & (low < high):
        middle = (low + high + 1) >> 1
        threshold = middle.to(tl.int32)
        counts = tl.zeros((TILE,), tl.int32)
        for start in range(0, n, TILE):
            key = load_keys(row, start + tl.arange(0, TILE), n, ALIGNED)
            counts += (key >= threshold).to(tl.int32)
        count = tl.sum(counts)
        if count >= want:
            low = middle
            found = count
        else:
            high = middle - 1

    # Either found == want and all keys from low on win, or low is the last winner's key and some of its equals lose.
    last = low.to(tl.int32)
    lose = found - want
    ties = tl.zeros((), tl.int32)
    if lose > 0:
        for start in range(0, n, TILE):
            ties += tl.sum((load_keys(row, start + tl.arange(0, TILE), n, ALIGNED) == last).to(tl.int32))
        ties -= lose
    else:
        ties = n
    written = tl.zeros((), tl.int32)
    for start in range(0, n, TILE):
        i = start + tl.arange(0, TILE)
        key = load_keys(row, i, n, ALIGNED)
        equal = (key == last).to(tl.int32)
        win = (key > last) | ((equal != 0) & (tl.cumsum(equal) <= ties))
        ties -= tl.sum(equal)
        place = written + tl.cumsum(win.to(tl.int32))
        tl.store(out + place - 1, i, mask=win)
        written += tl.sum(win.to(tl.int32))
    for start in range(0, KEEP, TILE):
        k = start + tl.arange(0, TILE)
        tl.store(out + k, -1, mask=(k >= written) & (k < KEEP))


def run(score, lens, idx):
    B, N = score.shape
    select[(B,)](score, lens, idx, B, N, ALIGNED=N % 16 == 0)
