"""A tile of queries is few positions times the heads of a group, and goes through the tokens of its window, masked."""
import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({"ROWS": m, "TOKENS": n}, num_warps=w, num_stages=s)
                          for m, n, w, s in ((128, 64, 4, 3), (128, 32, 4, 3), (128, 64, 8, 3))],
                 key=["S", "HKV", "D"])
@triton.jit
def attend(q, k, v, sink, o, lse, S, HKV, window, scale, G: tl.constexpr, D: tl.constexpr, ROWS: tl.constexpr,
           TOKENS: tl.constexpr):
    first = (tl.num_programs(0) - 1 - tl.program_id(0)) * (ROWS // G)
    g = tl.program_id(1) % HKV
    b = tl.program_id(1) // HKV
    row = tl.arange(0, ROWS)
    i = first + row // G
    h = g * G + row % G
    d = tl.arange(0, D)
    at = ((b * S + i) * (HKV * G) + h)[:, None] * D + d[None, :]
    x = tl.load(q + at, mask=(i < S)[:, None], other=0.0)
    top = tl.full((ROWS,), -1e30, tl.float32)
    mass = tl.zeros((ROWS,), tl.float32)
    acc = tl.zeros((ROWS, D), tl.float32)
    for start in range(max(first - window + 1, 0), min(first + ROWS // G, S), TOKENS):
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
    tl.store(lse + (b * (HKV * G) + h) * S + i, (new_top + tl.log2(mass)) * 0.6931471805599453, mask=i < S)


def run(q, k, v, sink, o, lse, *, window, scale):
    B, S, HQ, D = q.shape
    HKV = k.shape[2]
    G = HQ // HKV
    attend[lambda c: (triton.cdiv(S, c["ROWS"] // G), B * HKV)](q, k, v, sink, o, lse, S, HKV, window, scale, G=G, D=D)
