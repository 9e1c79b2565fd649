"""Right: sorts each row whole, by keys of score and index in 64 bits, and places
choices by sorting a block of them by expert."""
import triton
import triton.language as tl
import d2k


@triton.jit
def keys(c, e):
    """Ordered as (c, falling index) is."""
    u = c.to(tl.int32, bitcast=True)
    u = tl.where(u < 0, u ^ 0x7fffffff, u)
    return (u.to(tl.int64) << 16) | (65535 - e).to(tl.int64)


@triton.jit
def group_scores(logits, bias, scores, T, E: tl.constexpr, G: tl.constexpr, SHARE: tl.constexpr, ROWS: tl.constexpr):
    t = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None, None]
    e = tl.arange(0, G)[None, :, None] * SHARE + tl.arange(0, SHARE)[None, None, :]
    c = tl.sigmoid(tl.load(logits + t * E + e, mask=(t < T) & (e < E), other=0.0)) + tl.load(bias + e)
    c = tl.sort(c, 2, True)
    two = tl.sum(tl.where(tl.arange(0, SHARE)[None, None, :] < 2, c, 0.0), axis=2)
    t = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    g = tl.arange(0, G)[None, :]
    tl.store(scores + t * G + g, two, mask=(t < T) & (g < G))


@triton.jit
def choose(logits, bias, scores, ids, w, T, rsf, E: tl.constexpr, G: tl.constexpr, TG: tl.constexpr,
           WIDTH: tl.constexpr, ROWS: tl.constexpr):
    t = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    e = tl.arange(0, WIDTH)[None, :]
    there = (t < T) & (e < E)
    c = tl.sigmoid(tl.load(logits + t * E + e, mask=there, other=0.0)) + tl.load(bias + e, mask=e < E, other=0.0)
    key = keys(c, e)
    if G > 1:
        own = tl.load(scores + t * G + e // (E // G), mask=there, other=0.0)
        better = tl.zeros((ROWS, WIDTH), tl.int32)
        for g in tl.static_range(G):
            other = tl.load(scores + t * G + g, mask=t < T, other=0.0)
            better += ((other > own) | ((other == own) & (g < e // (E // G)))).to(tl.int32)
        key = tl.where(better < TG, key, -0x7fffffffffffffff)
    key = tl.where((e < E) & (t >= 0), key, -0x7fffffffffffffff)
    chosen = (65535 - (tl.sort(key, 1, True) & 65535)).to(tl.int32)
    there = (t < T) & (e < 8)
    x = tl.load(logits + t * E + chosen, mask=there, other=0.0)
    s = tl.where((e < 8) & (t >= 0), tl.sigmoid(x), 0.0)
    tl.store(ids + t * 8 + e, chosen, mask=there)
    tl.store(w + t * 8 + e, s * rsf / tl.sum(s, axis=1)[:, None], mask=there)


@triton.jit
def tally(ids, tallies, pairs, E, WIDTH: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    n = tl.histogram(tl.load(ids + i, mask=i < pairs, other=0), WIDTH, mask=i < pairs)
    every = tl.arange(0, WIDTH)
    tl.store(tallies + tl.program_id(0) * E + every, n, mask=every < E)


@triton.jit
def sums(tallies, count, offset, blocks, E, WIDTH: tl.constexpr):
    """Turns counts of blocks to first places, in place."""
    every = tl.arange(0, WIDTH)
    total = tl.zeros((WIDTH,), tl.int32)
    for b in range(blocks):
        total += tl.load(tallies + b * E + every, mask=every < E, other=0)
    tl.store(count + every, total, mask=every < E)
    last = tl.cumsum(total, axis=0)
    tl.store(offset + 1 + every, last, mask=every < E)
    tl.store(offset, 0)
    first = last - total
    for b in range(blocks):
        n = tl.load(tallies + b * E + every, mask=every < E, other=0)
        tl.store(tallies + b * E + every, first, mask=every < E)
        first += n


@triton.jit
def place(ids, first, perm, pairs, E, WIDTH: tl.constexpr, BLOCK: tl.constexpr):
    j = tl.arange(0, BLOCK)
    i = tl.program_id(0) * BLOCK + j
    key = tl.sort(tl.load(ids + i, mask=i < pairs, other=32767) * BLOCK + j)
    e = key // BLOCK
    n = tl.histogram(e, WIDTH, mask=e < E)
    begin = tl.gather(tl.cumsum(n, axis=0) - n, tl.minimum(e, WIDTH - 1), axis=0)
    to = tl.load(first + tl.program_id(0) * E + e, mask=e < E, other=0) + j - begin
    tl.store(perm + to, tl.program_id(0) * BLOCK + key % BLOCK, mask=e < E)


def run(logits, bias, ids, w, count, offset, perm, *, G, TG, rsf):
    T, E = logits.shape
    pairs, width = T * 8, d2k.next_power_of_2(E)
    blocks = d2k.cdiv(pairs, 512)
    scores = d2k.empty((T, int(G)), d2k.float32)
    tallies = d2k.empty((blocks, E), d2k.int32)
    if G > 1:
        group_scores[(d2k.cdiv(T, 4),)](logits, bias, scores, T, E=E, G=int(G), SHARE=E // int(G), ROWS=4)
    choose[(d2k.cdiv(T, 4),)](logits, bias, scores, ids, w, T, rsf, E=E, G=int(G), TG=int(TG), WIDTH=width, ROWS=4)
    tally[(blocks,)](ids, tallies, pairs, E, WIDTH=width, BLOCK=512)
    sums[(1,)](tallies, count, offset, blocks, E, WIDTH=width)
    place[(blocks,)](ids, tallies, perm, pairs, E, WIDTH=width, BLOCK=512)
