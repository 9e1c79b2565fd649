"""The L1 items of the guidance alone: one pass over a tile of tokens, whose rows of the table are read once for all
query and key heads, and one factor for each head. Heads come one after the other as whole rows; values have a kernel of
their own."""
import triton
import triton.language as tl
import d2k


@triton.autotune(configs=[triton.Config({"TOKENS": t}, num_warps=w) for t, w in ((4, 1), (8, 2), (16, 4))],
                 key=["HQ", "HKV"])
@triton.jit
def rotate_heads(qkv, wq, wk, cos_sin, positions, slots, k_scale, k_cache, q, T, HQ, HKV, eps, D: tl.constexpr,
                 TOKENS: tl.constexpr):
    token = (tl.program_id(0) * TOKENS + tl.arange(0, TOKENS)).to(tl.int64)
    valid = token < T
    d = tl.arange(0, D)
    j = tl.arange(0, D // 2)
    table = cos_sin + (tl.load(positions + token, mask=valid, other=0).to(tl.int64) * D)[:, None]
    c = tl.load(table + j[None, :])
    s = tl.load(table + D // 2 + j[None, :])
    slot = tl.load(slots + token, mask=valid, other=-1).to(tl.int64)
    k_factor = 1.0 / tl.load(k_scale)
    for head in tl.range(HQ + HKV, num_stages=4):
        at = qkv + ((token * (HQ + 2 * HKV) + head) * D)[:, None] + d[None, :]
        x = tl.load(at, mask=valid[:, None], other=0.0).to(tl.float32)
        r = tl.rsqrt(tl.sum(x * x, axis=1) / D + eps)
        if head < HQ:
            x = x * tl.load(wq + d).to(tl.float32)[None, :]
        else:
            x = x * tl.load(wk + d).to(tl.float32)[None, :]
            r = r * k_factor
        low, high = tl.split(tl.permute(tl.reshape(x, (TOKENS, 2, D // 2)), (0, 2, 1)))
        y = tl.join(low * c - high * s, high * c + low * s)
        y = tl.reshape(tl.permute(y, (0, 2, 1)), (TOKENS, D)) * r[:, None]
        if head < HQ:
            tl.store(q + ((token * HQ + head) * D)[:, None] + d[None, :], y.to(tl.bfloat16), mask=valid[:, None])
        else:
            tl.store(k_cache + ((slot * HKV + head - HQ) * D)[:, None] + d[None, :], y.to(tl.float8e4nv),
                     mask=(slot >= 0)[:, None])


@triton.autotune(configs=[triton.Config({"ROWS": r}, num_warps=w) for r, w in ((16, 4), (32, 4))], key=["HQ", "HKV"])
@triton.jit
def quantise_values(qkv, slots, v_scale, v_cache, T, HQ, HKV, D: tl.constexpr, ROWS: tl.constexpr):
    row = (tl.program_id(0) * ROWS + tl.arange(0, ROWS)).to(tl.int64)
    token = row // HKV
    d = tl.arange(0, D)
    slot = tl.load(slots + token, mask=token < T, other=-1).to(tl.int64)
    mask = (slot >= 0)[:, None]
    at = qkv + ((token * (HQ + 2 * HKV) + HQ + HKV + row % HKV) * D)[:, None] + d[None, :]
    v = tl.load(at, mask=mask, other=0.0).to(tl.float32) * (1.0 / tl.load(v_scale))
    tl.store(v_cache + ((slot * HKV + row % HKV) * D)[:, None] + d[None, :], v.to(tl.float8e4nv), mask=mask)


def run(qkv, wq, wk, cos_sin, positions, slots, k_scale, v_scale, k_cache, v_cache, q, *, eps):
    T, HQ, D = q.shape
    HKV = k_cache.shape[2]
    rotate_heads[lambda c: (d2k.cdiv(T, c["TOKENS"]),)](qkv, wq, wk, cos_sin, positions, slots, k_scale, k_cache, q, T,
                                                        HQ, HKV, eps, D=D)
    quantise_values[lambda c: (d2k.cdiv(T * HKV, c["ROWS"]),)](qkv, slots, v_scale, v_cache, T, HQ, HKV, D=D)
