"""Two kernels: one takes the norm of each query and key head, the other normalises, rotates and writes each head."""
import triton
import triton.language as tl
import d2k


@triton.autotune(configs=[triton.Config({"ROWS": r}, num_warps=w) for r, w in ((16, 4), (32, 4), (64, 8))],
                 key=["HEADS", "ALL"])
@triton.jit
def norms(qkv, inverse, T, HEADS, ALL, eps, D: tl.constexpr, ROWS: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    valid = row < T * HEADS
    token = (row // HEADS).to(tl.int64)
    at = (token * ALL + row % HEADS) * D
    x = tl.load(qkv + at[:, None] + tl.arange(0, D)[None, :], mask=valid[:, None], other=0.0).to(tl.float32)
    tl.store(inverse + row, tl.rsqrt(tl.sum(x * x, axis=1) / D + eps), mask=valid)


@triton.jit
def normalise_and_rotate(low, high, w, inverse, cos_sin, positions, token, valid, HALF: tl.constexpr):
    d = tl.arange(0, HALF)[None, :]
    r = tl.load(inverse, mask=valid, other=0.0)[:, None]
    low = low * r * tl.load(w + d).to(tl.float32)
    high = high * r * tl.load(w + HALF + d).to(tl.float32)
    table = cos_sin + tl.load(positions + token, mask=valid, other=0).to(tl.int64)[:, None] * (2 * HALF)
    c = tl.load(table + d, mask=valid[:, None], other=0.0)
    s = tl.load(table + HALF + d, mask=valid[:, None], other=0.0)
    return low * c - high * s, high * c + low * s


@triton.jit
def store_codes(cache, slot, g, HKV, low, high, scale, HALF: tl.constexpr):
    d = tl.arange(0, HALF)[None, :]
    at = cache + (slot.to(tl.int64) * HKV + g)[:, None] * (2 * HALF)
    divisor = tl.load(scale)
    tl.store(at + d, (low / divisor).to(tl.float8e4nv), mask=slot[:, None] >= 0)
    tl.store(at + HALF + d, (high / divisor).to(tl.float8e4nv), mask=slot[:, None] >= 0)


@triton.autotune(configs=[triton.Config({"TOKENS": t}, num_warps=w) for t, w in ((16, 2), (16, 4), (32, 4), (64, 4))],
                 key=["HQ", "HKV"])
@triton.jit
def write_heads(qkv, inverse, wq, wk, cos_sin, positions, slots, k_scale, v_scale, k_cache, v_cache, q, T, HQ, HKV,
                HALF: tl.constexpr, TOKENS: tl.constexpr):
    head = tl.program_id(0)
    token = tl.program_id(1) * TOKENS + tl.arange(0, TOKENS)
    valid = token < T
    d = tl.arange(0, HALF)[None, :]
    x = qkv + (token.to(tl.int64) * (HQ + 2 * HKV) + head)[:, None] * (2 * HALF) + d
    low = tl.load(x, mask=valid[:, None], other=0.0).to(tl.float32)
    high = tl.load(x + HALF, mask=valid[:, None], other=0.0).to(tl.float32)
    r = inverse + token * (HQ + HKV) + head
    if head < HQ:
        low, high = normalise_and_rotate(low, high, wq, r, cos_sin, positions, token, valid, HALF)
        y = q + (token.to(tl.int64) * HQ + head)[:, None] * (2 * HALF) + d
        tl.store(y, low.to(tl.bfloat16), mask=valid[:, None])
        tl.store(y + HALF, high.to(tl.bfloat16), mask=valid[:, None])
    else:
        slot = tl.load(slots + token, mask=valid, other=-1)
        if head < HQ + HKV:
            low, high = normalise_and_rotate(low, high, wk, r, cos_sin, positions, token, valid, HALF)
            store_codes(k_cache, slot, head - HQ, HKV, low, high, k_scale, HALF)
        else:
            store_codes(v_cache, slot, head - HQ - HKV, HKV, low, high, v_scale, HALF)


def run(qkv, wq, wk, cos_sin, positions, slots, k_scale, v_scale, k_cache, v_cache, q, *, eps):
    T, HQ, D = q.shape
    HKV = k_cache.shape[2]
    inverse = d2k.empty((T, HQ + HKV), d2k.float32)
    norms[lambda c: (d2k.cdiv(T * (HQ + HKV), c["ROWS"]),)](qkv, inverse, T, HQ + HKV, HQ + 2 * HKV, eps, D=D)
    write_heads[lambda c: (HQ + 2 * HKV, d2k.cdiv(T, c["TOKENS"]))](
        qkv, inverse, wq, wk, cos_sin, positions, slots, k_scale, v_scale, k_cache, v_cache, q, T, HQ, HKV, HALF=D // 2)
