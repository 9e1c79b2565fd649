"""A launch for each step: lists of eight for a part of each row, their merging, bits of the plan, their counts,
scan, sums, placing. What the steps hand on lies in memory."""
import triton
import triton.language as tl
import d2k

TOKENS = 16


@triton.jit
def fall(x, i, y, j):
    """A score and its expert against another: the first of the two comes first, of equal ones the lower expert."""
    swap = (y > x) | ((y == x) & (j < i))
    return tl.where(swap, y, x), tl.where(swap, j, i), tl.where(swap, x, y), tl.where(swap, i, j)


@triton.jit
def sort8(a, an, b, bn, c, cn, d, dn, e, en, f, fn, g, gn, h, hn):
    a, an, b, bn = fall(a, an, b, bn)
    c, cn, d, dn = fall(c, cn, d, dn)
    e, en, f, fn = fall(e, en, f, fn)
    g, gn, h, hn = fall(g, gn, h, hn)
    a, an, c, cn = fall(a, an, c, cn)
    b, bn, d, dn = fall(b, bn, d, dn)
    e, en, g, gn = fall(e, en, g, gn)
    f, fn, h, hn = fall(f, fn, h, hn)
    b, bn, c, cn = fall(b, bn, c, cn)
    f, fn, g, gn = fall(f, fn, g, gn)
    a, an, e, en = fall(a, an, e, en)
    b, bn, f, fn = fall(b, bn, f, fn)
    c, cn, g, gn = fall(c, cn, g, gn)
    d, dn, h, hn = fall(d, dn, h, hn)
    c, cn, e, en = fall(c, cn, e, en)
    d, dn, f, fn = fall(d, dn, f, fn)
    b, bn, c, cn = fall(b, bn, c, cn)
    d, dn, e, en = fall(d, dn, e, en)
    f, fn, g, gn = fall(f, fn, g, gn)
    return a, an, b, bn, c, cn, d, dn, e, en, f, fn, g, gn, h, hn


@triton.jit
def merge8(a, an, b, bn, c, cn, d, dn, e, en, f, fn, g, gn, h, hn, a2, an2, b2, bn2, c2, cn2, d2, dn2, e2, en2, f2,
           fn2, g2, gn2, h2, hn2):
    a, an, _x, _i = fall(a, an, h2, hn2)
    b, bn, _x, _i = fall(b, bn, g2, gn2)
    c, cn, _x, _i = fall(c, cn, f2, fn2)
    d, dn, _x, _i = fall(d, dn, e2, en2)
    e, en, _x, _i = fall(e, en, d2, dn2)
    f, fn, _x, _i = fall(f, fn, c2, cn2)
    g, gn, _x, _i = fall(g, gn, b2, bn2)
    h, hn, _x, _i = fall(h, hn, a2, an2)
    a, an, e, en = fall(a, an, e, en)
    b, bn, f, fn = fall(b, bn, f, fn)
    c, cn, g, gn = fall(c, cn, g, gn)
    d, dn, h, hn = fall(d, dn, h, hn)
    a, an, c, cn = fall(a, an, c, cn)
    b, bn, d, dn = fall(b, bn, d, dn)
    e, en, g, gn = fall(e, en, g, gn)
    f, fn, h, hn = fall(f, fn, h, hn)
    a, an, b, bn = fall(a, an, b, bn)
    c, cn, d, dn = fall(c, cn, d, dn)
    e, en, f, fn = fall(e, en, f, fn)
    g, gn, h, hn = fall(g, gn, h, hn)
    return a, an, b, bn, c, cn, d, dn, e, en, f, fn, g, gn, h, hn


@triton.jit
def eighths(x):
    """The eight slices along the last axis."""
    even, odd = tl.split(tl.reshape(x, (x.shape[0], x.shape[1], 4, 2)))
    x04, x26 = tl.split(tl.reshape(even, (x.shape[0], x.shape[1], 2, 2)))
    x15, x37 = tl.split(tl.reshape(odd, (x.shape[0], x.shape[1], 2, 2)))
    x0, x4 = tl.split(x04)
    x2, x6 = tl.split(x26)
    x1, x5 = tl.split(x15)
    x3, x7 = tl.split(x37)
    return x0, x1, x2, x3, x4, x5, x6, x7


@triton.jit
def row_lists(logits, bias, t, T, E, LISTS: tl.constexpr):
    """Eight falling scores and their experts for each eight neighbouring experts."""
    e = tl.arange(0, LISTS)[None, :, None] * 8 + tl.arange(0, 8)[None, None, :]
    there = (t[:, None, None] < T) & (e < E)
    s = tl.sigmoid(tl.load(logits + t[:, None, None] * E + e, mask=there, other=0.0))
    score = tl.where((e < E) & (s >= 0), s + tl.load(bias + e, mask=e < E, other=0.0), float("-inf"))
    a, b, c, d, e, f, g, h = eighths(score)
    n = tl.arange(0, LISTS)[None, :] * 8 + tl.zeros((t.shape[0], LISTS), tl.int32)
    return sort8(a, n, b, n + 1, c, n + 2, d, n + 3, e, n + 4, f, n + 5, g, n + 6, h, n + 7)


@triton.jit
def make_lists(logits, bias, score, expert, T, E: tl.constexpr, PARTS: tl.constexpr, LISTS: tl.constexpr,
               TOKENS: tl.constexpr):
    t = tl.program_id(0) * TOKENS + tl.arange(0, TOKENS)
    a, an, b, bn, c, cn, d, dn, e, en, f, fn, g, gn, h, hn = row_lists(logits, bias, t, T, E, LISTS)
    a, an = tl.reshape(a, (TOKENS, PARTS, LISTS // PARTS)), tl.reshape(an, (TOKENS, PARTS, LISTS // PARTS))
    b, bn = tl.reshape(b, (TOKENS, PARTS, LISTS // PARTS)), tl.reshape(bn, (TOKENS, PARTS, LISTS // PARTS))
    c, cn = tl.reshape(c, (TOKENS, PARTS, LISTS // PARTS)), tl.reshape(cn, (TOKENS, PARTS, LISTS // PARTS))
    d, dn = tl.reshape(d, (TOKENS, PARTS, LISTS // PARTS)), tl.reshape(dn, (TOKENS, PARTS, LISTS // PARTS))
    e, en = tl.reshape(e, (TOKENS, PARTS, LISTS // PARTS)), tl.reshape(en, (TOKENS, PARTS, LISTS // PARTS))
    f, fn = tl.reshape(f, (TOKENS, PARTS, LISTS // PARTS)), tl.reshape(fn, (TOKENS, PARTS, LISTS // PARTS))
    g, gn = tl.reshape(g, (TOKENS, PARTS, LISTS // PARTS)), tl.reshape(gn, (TOKENS, PARTS, LISTS // PARTS))
    h, hn = tl.reshape(h, (TOKENS, PARTS, LISTS // PARTS)), tl.reshape(hn, (TOKENS, PARTS, LISTS // PARTS))
    lists = tl.reduce((a, an, b, bn, c, cn, d, dn,
                      e, en, f, fn, g, gn, h, hn), 2, merge8)
    a, an, b, bn, c, cn, d, dn, e, en, f, fn, g, gn, h, hn = lists
    at = (t[:, None] * PARTS + tl.arange(0, PARTS)[None, :]) * 8
    tl.store(score + at + 0, a)
    tl.store(expert + at + 0, an)
    tl.store(score + at + 1, b)
    tl.store(expert + at + 1, bn)
    tl.store(score + at + 2, c)
    tl.store(expert + at + 2, cn)
    tl.store(score + at + 3, d)
    tl.store(expert + at + 3, dn)
    tl.store(score + at + 4, e)
    tl.store(expert + at + 4, en)
    tl.store(score + at + 5, f)
    tl.store(expert + at + 5, fn)
    tl.store(score + at + 6, g)
    tl.store(expert + at + 6, gn)
    tl.store(score + at + 7, h)
    tl.store(expert + at + 7, hn)


@triton.jit
def choose(score, expert, logits, ids, w, T, rsf, E, G: tl.constexpr, TG: tl.constexpr, PARTS: tl.constexpr,
           TOKENS: tl.constexpr):
    t = tl.program_id(0) * TOKENS + tl.arange(0, TOKENS)
    at = (t[:, None, None] * PARTS + tl.arange(0, PARTS)[None, :, None]) * 8 + tl.arange(0, 8)[None, None, :]
    a, b, c, d, e, f, g, h = eighths(tl.load(score + at))
    an, bn, cn, dn, en, fn, gn, hn = eighths(tl.load(expert + at))
    if G > 1:
        sums = a + b
        own = tl.arange(0, G)[None, :]
        kept = own < 0
        for i in tl.static_range(TG):
            best = tl.argmax(tl.where(kept, float("-inf"), sums), axis=1)
            kept = kept | (own == best[:, None])
        a = tl.where(kept, a, float("-inf"))
        b = tl.where(kept, b, float("-inf"))
        c = tl.where(kept, c, float("-inf"))
        d = tl.where(kept, d, float("-inf"))
        e = tl.where(kept, e, float("-inf"))
        f = tl.where(kept, f, float("-inf"))
        g = tl.where(kept, g, float("-inf"))
        h = tl.where(kept, h, float("-inf"))
    lists = tl.reduce((a, an, b, bn, c, cn, d, dn,
                       e, en, f, fn, g, gn, h, hn), 1, merge8)
    a, an, b, bn, c, cn, d, dn, e, en, f, fn, g, gn, h, hn = lists
    k = tl.arange(0, 8)[None, :]
    chosen = an[:, None] + tl.zeros_like(k)
    chosen = tl.where(k == 1, bn[:, None], chosen)
    chosen = tl.where(k == 2, cn[:, None], chosen)
    chosen = tl.where(k == 3, dn[:, None], chosen)
    chosen = tl.where(k == 4, en[:, None], chosen)
    chosen = tl.where(k == 5, fn[:, None], chosen)
    chosen = tl.where(k == 6, gn[:, None], chosen)
    chosen = tl.where(k == 7, hn[:, None], chosen)
    there = (t[:, None] < T) & (k >= 0)
    s = tl.sigmoid(tl.load(logits + t[:, None] * E + chosen, mask=there, other=0.0))
    tl.store(ids + t[:, None] * 8 + k, chosen, mask=there)
    tl.store(w + t[:, None] * 8 + k, s * (rsf / tl.sum(s, axis=1))[:, None], mask=there)


@triton.jit
def mark(ids, marks, pairs, E, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    e = tl.load(ids + i, mask=i < pairs, other=0)
    bit = tl.full((BLOCK,), 1, tl.int32) << ((i // 8) & 31)
    tl.atomic_add(marks + (i // 256) * E + e, bit, mask=i < pairs, sem="relaxed")


@triton.jit
def population(x):
    x = x.to(tl.uint32, bitcast=True)
    x = x - ((x >> 1) & 0x55555555)
    x = (x & 0x33333333) + ((x >> 2) & 0x33333333)
    x = (x + (x >> 4)) & 0x0f0f0f0f
    return ((x * 0x01010101) >> 24).to(tl.int32)


@triton.jit
def tally(marks, tallies, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(tallies + i, population(tl.load(marks + i, mask=i < n, other=0)), mask=i < n)


@triton.jit
def scan(tallies, before, count, words, E, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """Of each word's expert: how many choices lie in the words above it; and how many there are in all."""
    e = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    total = tl.zeros((COLUMNS,), tl.int32)
    for start in range(0, words, ROWS):
        r = start + tl.arange(0, ROWS)[:, None]
        at = r * E + e[None, :]
        n = tl.load(tallies + at, mask=(r < words) & (at >= 0), other=0)
        tl.store(before + at, tl.cumsum(n, axis=0) - n + total[None, :], mask=(r < words) & (at >= 0))
        total += tl.sum(n, axis=0)
    tl.store(count + e, total)


@triton.jit
def offsets(count, offset, E, WIDTH: tl.constexpr):
    every = tl.arange(0, WIDTH)
    sums = tl.cumsum(tl.load(count + every, mask=every < E, other=0), axis=0)
    tl.store(offset + 1 + every, sums, mask=every < E)
    tl.store(offset, 0)


@triton.jit
def place(ids, marks, before, offset, perm, pairs, E, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    e = tl.load(ids + i, mask=i < pairs, other=0)
    at = (i // 256) * E + e
    word = tl.load(marks + at, mask=i < pairs, other=0)
    to = tl.load(offset + e, mask=i < pairs, other=0) + tl.load(before + at, mask=i < pairs, other=0)
    lower = (tl.full((BLOCK,), 1, tl.int32) << ((i // 8) & 31)) - 1
    tl.store(perm + to + population(word & lower), i, mask=i < pairs)


def run(logits, bias, ids, w, count, offset, perm, *, G, TG, rsf):
    T, E = logits.shape
    words, parts = d2k.cdiv(T, 32), int(G) if G > 1 else 4
    marks = d2k.zeros((words, E), d2k.int32)
    tallies = d2k.empty((words, E), d2k.int32)
    before = d2k.empty((words, E), d2k.int32)
    score = d2k.empty((d2k.cdiv(T, TOKENS) * TOKENS, parts, 8), d2k.float32)
    expert = d2k.empty((d2k.cdiv(T, TOKENS) * TOKENS, parts, 8), d2k.int32)
    make_lists[(d2k.cdiv(T, TOKENS),)](logits, bias, score, expert, T, E=E, PARTS=parts,
                                       LISTS=d2k.next_power_of_2(E // 8), TOKENS=TOKENS, num_warps=8)
    choose[(d2k.cdiv(T, TOKENS),)](score, expert, logits, ids, w, T, rsf, E, G=int(G), TG=int(TG), PARTS=parts,
                                   TOKENS=TOKENS, num_warps=4)
    mark[(d2k.cdiv(T * 8, 1024),)](ids, marks, T * 8, E, BLOCK=1024)
    tally[(d2k.cdiv(words * E, 1024),)](marks, tallies, words * E, BLOCK=1024)
    scan[(E // 4,)](tallies, before, count, words, E, ROWS=min(1024, max(64, d2k.next_power_of_2(words))), COLUMNS=4,
                    num_warps=16)
    offsets[(1,)](count, offset, E, WIDTH=d2k.next_power_of_2(E))
    place[(d2k.cdiv(T * 8, 1024),)](ids, marks, before, offset, perm, T * 8, E, BLOCK=1024, num_warps=8)
