"""One program for a tile of queries of one head: an online softmax over the tokens up to its last query, masked."""
import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({"QUERIES": m, "TOKENS": n}, num_warps=w, num_stages=s)
                          for m, n, w, s in ((128, 64, 4, 3), (128, 128, 8, 2), (128, 64, 8, 3), (64, 64, 4, 3))],
                 key=["S", "HQ", "HKV", "D"])
@triton.jit
def attend(q, k, v, sink, o, lse, S, HQ, HKV, window, scale, D: tl.constexpr, QUERIES: tl.constexpr,
           TOKENS: tl.constexpr):
    first = (tl.num_programs(0) - 1 - tl.program_id(0)) * QUERIES
    h = tl.program_id(1) % HQ
    b = tl.program_id(1) // HQ
    g = h // (HQ // HKV)
    i = first + tl.arange(0, QUERIES)
    d = tl.arange(0, D)
    at = ((b * S + i) * HQ + h)[:, None] * D + d[None, :]
    x = tl.load(q + at, mask=(i < S)[:, None], other=0.0)
    top = tl.full((QUERIES,), -1e30, tl.float32)
    mass = tl.zeros((QUERIES,), tl.float32)
    acc = tl.zeros((QUERIES, D), tl.float32)
    for start in range(0, min(first + QUERIES, S), TOKENS):
        j = start + tl.arange(0, TOKENS)
        token = ((b * S + j) * HKV + g) * D
        y = tl.load(k + token[None, :] + d[:, None], mask=(j < S)[None, :], other=0.0)
        s = tl.dot(x, y) * (scale * 1.4426950408889634)
        seen = (j[None, :] <= i[:, None]) & (j[None, :] > i[:, None] - window)
        s = tl.where(seen, s, float("-inf"))
        new_top = tl.maximum(top, tl.max(s, axis=1))
        p = tl.exp2(s - new_top[:, None])
        keep = tl.exp2(top - new_top)
        mass = mass * keep + tl.sum(p, axis=1)
        z = tl.load(v + token[:, None] + d[None, :], mask=(j < S)[:, None], other=0.0)
        acc = tl.dot(p.to(tl.bfloat16), z, acc * keep[:, None])
        top = new_top
    # The sink is one more score without a value.
    extra = tl.load(sink + h) * 1.4426950408889634
    new_top = tl.maximum(top, extra)
    keep = tl.exp2(top - new_top)
    mass = mass * keep + tl.exp2(extra - new_top)
    tl.store(o + at, (acc * (keep / mass)[:, None]).to(tl.bfloat16), mask=(i < S)[:, None])
    tl.store(lse + (b * HQ + h) * S + i, (new_top + tl.log2(mass)) * 0.6931471805599453, mask=i < S)


def run(q, k, v, sink, o, lse, *, window, scale):
    B, S, HQ, D = q.shape
    attend[lambda c: (triton.cdiv(S, c["QUERIES"]), B * HQ)](q, k, v, sink, o, lse, S, HQ, k.shape[2], window, scale,
                                                              D=D)
