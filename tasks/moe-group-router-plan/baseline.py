"""Choose by K rounds of arg-max over whole rows, count choices block by block, scan the counts, and place each choice by
its rank in its block, a running sum over one-hot rows."""
import triton
import triton.language as tl
import d2k

CHOICES = 256                                   # a block of the plan


@triton.autotune(configs=[triton.Config({"ROWS": r}, num_warps=w) for r, w in ((1, 1), (2, 1), (4, 1), (8, 4))],
                 key=["E"])
@triton.jit
def choose(logits, bias, ids, w, T, rsf, E: tl.constexpr, G: tl.constexpr, TG: tl.constexpr, K: tl.constexpr,
           WIDTH: tl.constexpr, ROWS: tl.constexpr):
    t = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    e = tl.arange(0, WIDTH)[None, :]
    there = (t < T) & (e < E)
    s = tl.sigmoid(tl.load(logits + t * E + e, mask=there, other=0.0))
    c = s + tl.load(bias + e, mask=e < E, other=0.0)
    c = tl.where((e < E) & (t >= 0), c, float("-inf"))
    if G > 1:
        groups = tl.reshape(c, (ROWS, G, WIDTH // G))
        member = tl.arange(0, WIDTH // G)[None, None, :]
        first, at = tl.max(groups, axis=2, return_indices=True)
        second = tl.max(tl.where(member == at[:, :, None], float("-inf"), groups), axis=2)
        sums = first + second
        g = tl.arange(0, G)[None, :]
        kept = g < 0
        for i in tl.static_range(TG):
            best = tl.argmax(tl.where(kept, float("-inf"), sums), axis=1)
            kept = kept | (g == best[:, None])
        groups = tl.where(kept[:, :, None], groups, float("-inf"))
        c = tl.reshape(groups, (ROWS, WIDTH))

    k = tl.arange(0, K)[None, :]
    chosen = tl.zeros((ROWS, K), tl.int32)
    weights = tl.zeros((ROWS, K), tl.float32)
    for i in tl.static_range(K):
        best = tl.argmax(c, axis=1)[:, None]
        hit = e == best
        weight = tl.sum(tl.where(hit, s, 0.0), axis=1)[:, None]
        c = tl.where(hit, float("-inf"), c)
        chosen = tl.where(k == i, best, chosen)
        weights = tl.where(k == i, weight, weights)
    weights = weights * (rsf / tl.sum(weights, axis=1))[:, None]
    there = (t < T) & (k >= 0)
    tl.store(ids + t * K + k, chosen, mask=there)
    tl.store(w + t * K + k, weights, mask=there)


@triton.jit
def tally(ids, tallies, pairs, E, WIDTH: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    e = tl.load(ids + i, mask=i < pairs, other=0)
    n = tl.histogram(e, WIDTH, mask=i < pairs)
    every = tl.arange(0, WIDTH)
    tl.store(tallies + tl.program_id(0) * E + every, n, mask=every < E)


@triton.jit
def scan(tallies, before, count, blocks, E, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    e = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    total = tl.zeros((COLUMNS,), tl.int32)
    for start in range(0, blocks, ROWS):
        r = start + tl.arange(0, ROWS)[:, None]
        at = r * E + e[None, :]
        there = (r < blocks) & (at >= 0)
        n = tl.load(tallies + at, mask=there, other=0)
        tl.store(before + at, tl.cumsum(n, axis=0) - n + total[None, :], mask=there)
        total += tl.sum(n, axis=0)
    tl.store(count + e, total)


@triton.jit
def offsets(count, offset, E, WIDTH: tl.constexpr):
    every = tl.arange(0, WIDTH)
    sums = tl.cumsum(tl.load(count + every, mask=every < E, other=0), axis=0)
    tl.store(offset + 1 + every, sums, mask=every < E)
    tl.store(offset, 0)


@triton.autotune(configs=[triton.Config({"PART": p}, num_warps=w) for p, w in ((32, 4), (64, 4), (64, 8))], key=["E"])
@triton.jit
def place(ids, before, offset, perm, pairs, E, WIDTH: tl.constexpr, BLOCK: tl.constexpr, PART: tl.constexpr):
    every = tl.arange(0, WIDTH)
    block = tl.program_id(0)
    to = tl.load(offset + every, mask=every < E, other=0)
    to += tl.load(before + block * E + every, mask=every < E, other=0)
    for start in range(0, BLOCK, PART):
        i = block * BLOCK + start + tl.arange(0, PART)
        e = tl.load(ids + i, mask=i < pairs, other=-1)
        hot = (e[:, None] == every[None, :]).to(tl.int32)
        at = tl.cumsum(hot, axis=0) - 1 + to[None, :]
        tl.store(perm + tl.sum(tl.where(hot != 0, at, 0), axis=1), i, mask=i < pairs)
        to += tl.sum(hot, axis=0)


def run(logits, bias, ids, w, count, offset, perm, *, G, TG, rsf):
    T, E = logits.shape
    K = ids.shape[1]
    blocks = d2k.cdiv(T * K, CHOICES)
    width = d2k.next_power_of_2(E)
    tallies = d2k.empty((blocks, E), d2k.int32)
    before = d2k.empty((blocks, E), d2k.int32)
    choose[lambda c: (d2k.cdiv(T, c["ROWS"]),)](logits, bias, ids, w, T, rsf, E=E, G=int(G), TG=int(TG), K=K,
                                                WIDTH=width)
    tally[(blocks,)](ids, tallies, T * K, E, WIDTH=width, BLOCK=CHOICES)
    scan[(E // 8,)](tallies, before, count, blocks, E, ROWS=256, COLUMNS=8)
    offsets[(1,)](count, offset, E, WIDTH=width)
    place[(blocks,)](ids, before, offset, perm, T * K, E, WIDTH=width, BLOCK=CHOICES)
