"""Right, and arranged otherwise: a first pass finds each row's maximum and sum, a second one weighs the values, with
nothing to rescale. The sink is a factor on the finished output, and comes into lse by log(1 + exp)."""
import triton
import triton.language as tl


@triton.jit
def scores(x, k, b, g, i, j, S, HKV, window, scale, D: tl.constexpr):
    y = tl.load(k + ((b * S + j) * HKV + g)[:, None] * D + tl.arange(0, D)[None, :], mask=(j < S)[:, None], other=0.0)
    s = tl.dot(x, y.T) * scale
    return tl.where((j[None, :] <= i[:, None]) & (i[:, None] - j[None, :] < window), s, float("-inf"))


@triton.jit
def attend(q, k, v, sink, o, lse, S, HQ, HKV, window, scale, D: tl.constexpr, QUERIES: tl.constexpr,
           TOKENS: tl.constexpr):
    first = tl.program_id(0) * QUERIES
    h = tl.program_id(1) % HQ
    b = tl.program_id(1) // HQ
    g = h // (HQ // HKV)
    i = first + tl.arange(0, QUERIES)
    d = tl.arange(0, D)
    at = ((b * S + i) * HQ + h)[:, None] * D + d[None, :]
    x = tl.load(q + at, mask=(i < S)[:, None], other=0.0)
    begin = max(first - window + 1, 0)
    end = min(first + QUERIES, S)
    top = tl.full((QUERIES,), -1e30, tl.float32)
    for start in range(begin, end, TOKENS):
        s = scores(x, k, b, g, i, start + tl.arange(0, TOKENS), S, HKV, window, scale, D)
        top = tl.maximum(top, tl.max(s, axis=1))
    mass = tl.zeros((QUERIES,), tl.float32)
    acc = tl.zeros((QUERIES, D), tl.float32)
    for start in range(begin, end, TOKENS):
        j = start + tl.arange(0, TOKENS)
        p = tl.exp(scores(x, k, b, g, i, j, S, HKV, window, scale, D) - top[:, None])
        z = tl.load(v + ((b * S + j) * HKV + g)[:, None] * D + d[None, :], mask=(j < S)[:, None], other=0.0)
        p = p.to(tl.bfloat16)
        mass += tl.sum(p.to(tl.float32), axis=1)
        acc = tl.dot(p, z, acc)
    own = top + tl.log(mass)
    away = tl.load(sink + h) - own
    above = tl.maximum(away, 0.0)
    share = tl.exp(-above) / (tl.exp(-above) + tl.exp(away - above))
    tl.store(o + at, (acc * (share / mass)[:, None]).to(tl.bfloat16), mask=(i < S)[:, None])
    tl.store(lse + (b * HQ + h) * S + i, own - tl.log(share), mask=i < S)


def run(q, k, v, sink, o, lse, *, window, scale):
    B, S, HQ, D = q.shape
    attend[(triton.cdiv(S, 64), B * HQ)](q, k, v, sink, o, lse, S, HQ, k.shape[2], window, scale, D=D, QUERIES=64,
                                         TOKENS=64, num_warps=4, num_stages=2)
