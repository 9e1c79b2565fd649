"""The L1 and L2 items of the guidance, without those of L3: a program takes a few tokens one after the other, loads a
kind of head when its turn comes, always under a mask, and branches around the caches for a token without a slot."""
import triton
import triton.language as tl
import d2k


@triton.jit
def coefficients(w, c, s, HALF: tl.constexpr):
    """The rotation of weighted halves: a row each for low and high in low, for high and low in high."""
    j = tl.arange(0, HALF)
    low = tl.load(w + j).to(tl.float32)
    high = tl.load(w + HALF + j).to(tl.float32)
    return low * c, high * s, high * c, low * s


@triton.jit
def load_halves(x, heads, PADDED: tl.constexpr, HALF: tl.constexpr):
    head = tl.arange(0, PADDED)[:, None]
    at = x + head * (2 * HALF) + tl.arange(0, HALF)[None, :]
    low = tl.load(at, mask=head < heads, other=0.0).to(tl.float32)
    return low, tl.load(at + HALF, mask=head < heads, other=0.0).to(tl.float32)


@triton.jit
def store_halves(y, low, high, heads, PADDED: tl.constexpr, HALF: tl.constexpr):
    head = tl.arange(0, PADDED)[:, None]
    at = y + head * (2 * HALF) + tl.arange(0, HALF)[None, :]
    tl.store(at, low.to(y.dtype.element_ty), mask=head < heads)
    tl.store(at + HALF, high.to(y.dtype.element_ty), mask=head < heads)


@triton.jit
def norm_and_rotate(low, high, a, b, c, d, eps, factor, HALF: tl.constexpr):
    mean = tl.sum(low * low + high * high, axis=1) / (2 * HALF)
    r = (tl.rsqrt(mean + eps) * factor)[:, None]
    return (low * a[None, :] - high * b[None, :]) * r, (high * c[None, :] + low * d[None, :]) * r


@triton.autotune(configs=[triton.Config({"TOKENS": t}, num_warps=w) for t, w in ((2, 4), (4, 4), (4, 8))],
                 key=["HQ", "HKV"])
@triton.jit
def prepare(qkv, wq, wk, cos_sin, positions, slots, k_scale, v_scale, k_cache, v_cache, q, T, HQ, HKV, eps,
            QPAD: tl.constexpr, KPAD: tl.constexpr, HALF: tl.constexpr, TOKENS: tl.constexpr):
    first = tl.program_id(0) * TOKENS
    j = tl.arange(0, HALF)
    for index in range(first, min(first + TOKENS, T)):
        token = tl.cast(index, tl.int64)
        heads = qkv + token * (HQ + 2 * HKV) * (2 * HALF)
        table = cos_sin + tl.load(positions + token).to(tl.int64) * (2 * HALF)
        c = tl.load(table + j)
        s = tl.load(table + HALF + j)

        low, high = load_halves(heads, HQ, QPAD, HALF)
        a, b, e, f = coefficients(wq, c, s, HALF)
        low, high = norm_and_rotate(low, high, a, b, e, f, eps, 1.0, HALF)
        store_halves(q + token * HQ * (2 * HALF), low, high, HQ, QPAD, HALF)

        slot = tl.load(slots + token).to(tl.int64)
        if slot >= 0:
            place = slot * HKV * (2 * HALF)
            k_low, k_high = load_halves(heads + HQ * (2 * HALF), HKV, KPAD, HALF)
            ka, kb, kc, kd = coefficients(wk, c, s, HALF)
            k_low, k_high = norm_and_rotate(k_low, k_high, ka, kb, kc, kd, eps, 1.0 / tl.load(k_scale), HALF)
            store_halves(k_cache + place, k_low, k_high, HKV, KPAD, HALF)
            factor = 1.0 / tl.load(v_scale)
            v_low, v_high = load_halves(heads + (HQ + HKV) * (2 * HALF), HKV, KPAD, HALF)
            store_halves(v_cache + place, v_low * factor, v_high * factor, HKV, KPAD, HALF)


def run(qkv, wq, wk, cos_sin, positions, slots, k_scale, v_scale, k_cache, v_cache, q, *, eps):
    T, HQ, D = q.shape
    HKV = k_cache.shape[2]
    prepare[lambda c: (d2k.cdiv(T, c["TOKENS"]),)](qkv, wq, wk, cos_sin, positions, slots, k_scale, v_scale, k_cache,
                                                   v_cache, q, T, HQ, HKV, eps, QPAD=d2k.next_power_of_2(HQ),
                                                   KPAD=d2k.next_power_of_2(HKV), HALF=D // 2)
