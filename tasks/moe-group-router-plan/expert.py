"""Three launches: choose and mark, scan, place.

A program chooses for 32 tokens, a row of logits spread over a few lanes. Each lane sorts its experts in lists of eight
in its own registers and merges them to its eight best; with groups, a lane holds a group, whose score is then the sum
of its list's first two. Lists of a row's lanes are merged in a tournament. A choice sets one bit, the token's, in a
word of (32 tokens, expert): the population count of words is the histogram, that of the bits below the token's own is
the stable rank. So neither the experts of a row nor the choices are ever sorted.

Keys are c as fixed-point numbers of 23 bits, steps of 2^-21, over the complement of the index. Different c are more
than 20 such steps apart, and equal ones fall to the lower index.
"""
import triton
import triton.language as tl
import d2k

INDEX = tl.constexpr(511)
TOKENS = 32                                     # of a word
WORDS = 8                                       # of a block of the plan


@triton.jit
def fall(a, b):
    return tl.maximum(a, b), tl.minimum(a, b)


@triton.jit
def sort8(a, b, c, d, e, f, g, h):
    """Batcher's network; falling."""
    a, b = fall(a, b)
    c, d = fall(c, d)
    e, f = fall(e, f)
    g, h = fall(g, h)
    a, c = fall(a, c)
    b, d = fall(b, d)
    e, g = fall(e, g)
    f, h = fall(f, h)
    b, c = fall(b, c)
    f, g = fall(f, g)
    a, e = fall(a, e)
    b, f = fall(b, f)
    c, g = fall(c, g)
    d, h = fall(d, h)
    c, e = fall(c, e)
    d, f = fall(d, f)
    b, c = fall(b, c)
    d, e = fall(d, e)
    f, g = fall(f, g)
    return a, b, c, d, e, f, g, h


@triton.jit
def merge8(a, b, c, d, e, f, g, h, a2, b2, c2, d2, e2, f2, g2, h2):
    """The eight largest of two falling lists: the larger of each pair of first and last is bitonic."""
    a = tl.maximum(a, h2)
    b = tl.maximum(b, g2)
    c = tl.maximum(c, f2)
    d = tl.maximum(d, e2)
    e = tl.maximum(e, d2)
    f = tl.maximum(f, c2)
    g = tl.maximum(g, b2)
    h = tl.maximum(h, a2)
    a, e = fall(a, e)
    b, f = fall(b, f)
    c, g = fall(c, g)
    d, h = fall(d, h)
    a, c = fall(a, c)
    b, d = fall(b, d)
    e, g = fall(e, g)
    f, h = fall(f, h)
    a, b = fall(a, b)
    c, d = fall(c, d)
    e, f = fall(e, f)
    g, h = fall(g, h)
    return a, b, c, d, e, f, g, h


@triton.jit
def keys4(logits, bias, t, e, T, E, RAGGED: tl.constexpr):
    """Keys of four neighbouring experts for each token and lane, as four tensors."""
    x = tl.load(logits + t * E + e, mask=(t < T) & (e < E), other=0.0)
    b = tl.load(bias + e, mask=e < E, other=0.0) + 6.0
    c = tl.math.fdiv(1.0, 1.0 + tl.exp2(x * -1.4426950408889634), approx=True) + b    # in [5, 8)
    key = (c.to(tl.uint32, bitcast=True) << 9) | (INDEX - e).to(tl.uint32)
    if RAGGED:
        key = tl.where((e < E) & (t >= 0), key, 0)
    even, odd = tl.split(tl.reshape(key, (key.shape[0], key.shape[1], 2, 2)))
    k0, k2 = tl.split(even)
    k1, k3 = tl.split(odd)
    return k0, k1, k2, k3


@triton.jit
def keys8(logits, bias, t, e, T, E, RAGGED: tl.constexpr):
    a, b, c, d = keys4(logits, bias, t, e, T, E, RAGGED)
    f, g, h, i = keys4(logits, bias, t, e + 4, T, E, RAGGED)
    return a, b, c, d, f, g, h, i


@triton.jit
def choose(logits, bias, ids, w, marks, T, rsf, E: tl.constexpr, G: tl.constexpr, TG: tl.constexpr,
           LANES: tl.constexpr, TOKENS: tl.constexpr, WIDTH: tl.constexpr):
    word = marks + tl.program_id(0) * E
    every = tl.arange(0, WIDTH)
    tl.store(word + every, tl.zeros((WIDTH,), tl.int32), mask=every < E)

    t = tl.program_id(0) * TOKENS + tl.arange(0, TOKENS)[:, None, None]
    lane = tl.arange(0, LANES)[None, :, None]
    four = tl.arange(0, 4)[None, None, :]
    if G > 1:                                   # a lane holds a group
        first = lane * (E // G) + four
        stride: tl.constexpr = 8
        chunks: tl.constexpr = E // G // 8
    else:                                       # lanes hold neighbouring eights
        first = lane * 8 + four
        stride: tl.constexpr = LANES * 8
        chunks: tl.constexpr = (E + LANES * 8 - 1) // (LANES * 8)
    RAGGED: tl.constexpr = chunks * LANES * 8 != E
    a, b, c, d, e, f, g, h = keys8(logits, bias, t, first, T, E, RAGGED)
    a, b, c, d, e, f, g, h = sort8(a, b, c, d, e, f, g, h)
    for i in tl.static_range(1, chunks):
        a2, b2, c2, d2, e2, f2, g2, h2 = keys8(logits, bias, t, first + i * stride, T, E, RAGGED)
        a2, b2, c2, d2, e2, f2, g2, h2 = sort8(a2, b2, c2, d2, e2, f2, g2, h2)
        a, b, c, d, e, f, g, h = merge8(a, b, c, d, e, f, g, h, a2, b2, c2, d2, e2, f2, g2, h2)

    if G > 1:
        group = tl.arange(0, LANES)[None, :]
        sums = (((a >> 9) + (b >> 9)) << 3).to(tl.int32) | (7 - group)
        left = sums
        for i in tl.static_range(TG - 1):
            left = tl.where(left == tl.max(left, axis=1)[:, None], -1, left)
        kept = sums >= tl.max(left, axis=1)[:, None]
        a = tl.where(kept, a, 0)
        b = tl.where(kept, b, 0)
        c = tl.where(kept, c, 0)
        d = tl.where(kept, d, 0)
        e = tl.where(kept, e, 0)
        f = tl.where(kept, f, 0)
        g = tl.where(kept, g, 0)
        h = tl.where(kept, h, 0)
    a, b, c, d, e, f, g, h = tl.reduce((a, b, c, d, e, f, g, h), 1, merge8)

    k = tl.arange(0, 8)[None, :]
    low = tl.where(k == 0, a[:, None], tl.where(k == 1, b[:, None], tl.where(k == 2, c[:, None], d[:, None])))
    high = tl.where(k == 4, e[:, None], tl.where(k == 5, f[:, None], tl.where(k == 6, g[:, None], h[:, None])))
    chosen = INDEX - (tl.where(k < 4, low, high) & 511).to(tl.int32)
    own = tl.arange(0, TOKENS)[:, None]
    t = tl.program_id(0) * TOKENS + own
    there = (t < T) & (k >= 0)
    x = tl.load(logits + t * E + chosen, mask=there, other=0.0)
    s = 1.0 / (1.0 + tl.exp2(x * -1.4426950408889634))
    tl.store(ids + t * 8 + k, chosen, mask=there)
    tl.store(w + t * 8 + k, s * (rsf / tl.sum(s, axis=1))[:, None], mask=there)
    tl.debug_barrier()                          # the words are zero before the first bit is set
    bit = tl.full((TOKENS, 8), 1, tl.int32) << own
    tl.atomic_add(word + chosen, bit, mask=there, sem="relaxed")


@triton.jit
def population(x):
    x = x.to(tl.uint32, bitcast=True)
    x = x - ((x >> 1) & 0x55555555)
    x = (x & 0x33333333) + ((x >> 2) & 0x33333333)
    x = (x + (x >> 4)) & 0x0f0f0f0f
    return ((x * 0x01010101) >> 24).to(tl.int32)


@triton.jit
def scan(marks, before, count, words, blocks, E, WORDS: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """For each expert: how many choices lie before each block of WORDS words, and how many there are in all."""
    e = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    total = tl.zeros((COLUMNS,), tl.int32)
    for start in range(0, blocks, ROWS):
        r = start + tl.arange(0, ROWS)[:, None]
        n = tl.zeros((ROWS, COLUMNS), tl.int32)
        for i in tl.static_range(WORDS):
            there = (r * WORDS + i < words) & (e < E)
            n += population(tl.load(marks + (r * WORDS + i) * E + e, mask=there, other=0))
        tl.store(before + r * E + e, tl.cumsum(n, axis=0) - n + total[None, :], mask=(r < blocks) & (e < E))
        total += tl.sum(n, axis=0)
    tl.store(count + tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS), total)


@triton.jit
def place(ids, marks, before, count, offset, perm, pairs, words, E, WORDS: tl.constexpr, WIDTH: tl.constexpr):
    """A block of WORDS words: first places of each word and expert are put together on chip and looked up there."""
    block = tl.program_id(0)
    every = tl.arange(0, WIDTH)
    n = tl.load(count + every, mask=every < E, other=0)
    starts = tl.cumsum(n, axis=0) - n
    if block == 0:
        tl.store(offset + every, starts, mask=every < E)
        tl.store(offset + E, pairs)
    starts += tl.load(before + block * E + every, mask=every < E, other=0)

    row = tl.arange(0, WORDS)[:, None]
    there = (block * WORDS + row < words) & (every[None, :] < E)
    bits = tl.load(marks + (block * WORDS + row) * E + every[None, :], mask=there, other=0)
    n = population(bits)
    first = tl.reshape(tl.cumsum(n, axis=0) - n + starts[None, :], (WORDS * WIDTH,))
    bits = tl.reshape(bits, (WORDS * WIDTH,))

    own = tl.arange(0, WORDS * 256)
    i = block * (WORDS * 256) + own
    at = own // 256 * WIDTH + tl.load(ids + i, mask=i < pairs, other=0)
    lower = (tl.full((WORDS * 256,), 1, tl.int32) << ((own // 8) & 31)) - 1
    to = tl.gather(first, at, axis=0) + population(tl.gather(bits, at, axis=0) & lower)
    tl.store(perm + to, i, mask=i < pairs)


def run(logits, bias, ids, w, count, offset, perm, *, G, TG, rsf):
    T, E = logits.shape
    words = d2k.cdiv(T, TOKENS)
    width = d2k.next_power_of_2(E)
    lanes = int(G) if G > 1 else 8 if E % 64 == 0 else 4
    marks = d2k.empty((words, E), d2k.int32)
    blocks = d2k.cdiv(words, WORDS)
    before = d2k.empty((blocks, E), d2k.int32)
    choose[(words,)](logits, bias, ids, w, marks, T, rsf, E=E, G=int(G), TG=int(TG), LANES=lanes, TOKENS=TOKENS,
                     WIDTH=width, num_warps=4)
    scan[(E // 4,)](marks, before, count, words, blocks, E, WORDS=WORDS,
                    ROWS=min(256, max(16, d2k.next_power_of_2(blocks))), COLUMNS=4, num_warps=8)
    place[(blocks,)](ids, marks, before, count, offset, perm, T * 8, words, E, WORDS=WORDS, WIDTH=width, num_warps=8)
