"""One program for each request and query head walks through the request's tokens with an online softmax."""
import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({"TOKENS": t}, num_warps=w) for t, w in ((128, 4), (256, 8), (512, 16))],
                 key=["HQ", "HKV"])
@triton.jit
def decode(q, k_cache, v_cache, k_scale, v_scale, block_table, seq_lens, o, HQ, HKV, MAXB, scale, D: tl.constexpr,
           PAGE: tl.constexpr, TOKENS: tl.constexpr):
    h = tl.program_id(0)
    b = tl.program_id(1)
    g = h // (HQ // HKV)
    n = tl.load(seq_lens + b)
    d = tl.arange(0, D)
    query = tl.load(q + (b * HQ + h) * D + d).to(tl.float32) * scale
    k_factor = tl.load(k_scale + g)
    v_factor = tl.load(v_scale + g)
    top = float("-inf")
    mass = 0.0
    acc = tl.zeros((D,), tl.float32)
    for t0 in range(0, n, TOKENS):
        t = t0 + tl.arange(0, TOKENS)
        valid = t < n
        page = tl.load(block_table + b * MAXB + t // PAGE, mask=valid, other=0).to(tl.int64)
        at = ((page * PAGE + t % PAGE) * HKV + g)[:, None] * D + d[None, :]
        k = tl.load(k_cache + at, mask=valid[:, None], other=0.0).to(tl.float32) * k_factor
        v = tl.load(v_cache + at, mask=valid[:, None], other=0.0).to(tl.float32) * v_factor
        s = tl.where(valid, tl.sum(query[None, :] * k, axis=1), float("-inf"))
        new_top = tl.maximum(top, tl.max(s, axis=0))
        p = tl.exp(s - new_top)
        keep = tl.exp(top - new_top)
        mass = mass * keep + tl.sum(p, axis=0)
        acc = acc * keep + tl.sum(p[:, None] * v, axis=0)
        top = new_top
    tl.store(o + (b * HQ + h) * D + d, (acc / mass).to(tl.bfloat16))


def run(q, k_cache, v_cache, k_scale, v_scale, block_table, seq_lens, o, *, scale):
    B, HQ, D = q.shape
    decode[(HQ, B)](q, k_cache, v_cache, k_scale, v_scale, block_table, seq_lens, o, HQ, k_cache.shape[2],
                    block_table.shape[1], scale, D=D, PAGE=k_cache.shape[1])
