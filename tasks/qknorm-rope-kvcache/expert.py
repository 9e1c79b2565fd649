"""One program for each token, and one pass: all heads of the token are loaded at once, and leave in their final form.

A head stays in registers as its two halves, of which a thread owns the same columns, from the load to the store. The
token's row of the table, times the weights, becomes four rows of coefficients that all heads share; what is left for a
head is its norm, two products for each output, and one factor, which for keys includes the cache's scale.
"""
import triton
import triton.language as tl
import d2k


@triton.jit
def load_halves(x, HEADS: tl.constexpr, PADDED: tl.constexpr, HALF: tl.constexpr):
    """Both halves of heads that lie one after the other, each [PADDED, HALF]."""
    head = tl.arange(0, PADDED)[:, None]
    at = x + head * (2 * HALF) + tl.arange(0, HALF)[None, :]
    if HEADS == PADDED:
        return tl.load(at), tl.load(at + HALF)
    return tl.load(at, mask=head < HEADS, other=0.0), tl.load(at + HALF, mask=head < HEADS, other=0.0)


@triton.jit
def store_halves(y, low, high, slot, HEADS: tl.constexpr, PADDED: tl.constexpr, HALF: tl.constexpr):
    """Stores both halves of the heads unless slot is negative."""
    head = tl.arange(0, PADDED)[:, None]
    at = y + head * (2 * HALF) + tl.arange(0, HALF)[None, :]
    mask = (head < HEADS) & (slot + head >= head)
    tl.store(at, low.to(y.dtype.element_ty), mask=mask)
    tl.store(at + HALF, high.to(y.dtype.element_ty), mask=mask)


@triton.jit
def coefficients(w, c, s, HALF: tl.constexpr):
    """The rotation of weighted halves: a row each for low and high in low, for high and low in high."""
    j = tl.arange(0, HALF)
    low = tl.load(w + j).to(tl.float32)
    high = tl.load(w + HALF + j).to(tl.float32)
    return low * c, high * s, high * c, low * s


@triton.jit
def norm_and_rotate(low, high, a, b, c, d, eps, factor, HALF: tl.constexpr):
    low = low.to(tl.float32)
    high = high.to(tl.float32)
    mean = tl.sum(low * low + high * high, axis=1) / (2 * HALF)
    r = (tl.rsqrt(mean + eps) * factor)[:, None]
    return (low * a[None, :] - high * b[None, :]) * r, (high * c[None, :] + low * d[None, :]) * r


@triton.jit
def prepare(qkv, wq, wk, cos_sin, positions, slots, k_scale, v_scale, k_cache, v_cache, q, eps,
            HQ: tl.constexpr, HKV: tl.constexpr, QPAD: tl.constexpr, KPAD: tl.constexpr, HALF: tl.constexpr):
    token = tl.program_id(0).to(tl.int64)
    position = tl.load(positions + token).to(tl.int64)
    slot = tl.load(slots + token).to(tl.int64)

    heads = qkv + token * ((HQ + 2 * HKV) * 2 * HALF)
    q_low, q_high = load_halves(heads, HQ, QPAD, HALF)
    k_low, k_high = load_halves(heads + HQ * 2 * HALF, HKV, KPAD, HALF)
    v_low, v_high = load_halves(heads + (HQ + HKV) * 2 * HALF, HKV, KPAD, HALF)
    j = tl.arange(0, HALF)
    c = tl.load(cos_sin + position * (2 * HALF) + j)
    s = tl.load(cos_sin + position * (2 * HALF) + HALF + j)
    k_factor = 1.0 / tl.load(k_scale)
    v_factor = 1.0 / tl.load(v_scale)

    a, b, e, f = coefficients(wq, c, s, HALF)
    low, high = norm_and_rotate(q_low, q_high, a, b, e, f, eps, 1.0, HALF)
    store_halves(q + token * (HQ * 2 * HALF), low, high, token, HQ, QPAD, HALF)

    a, b, e, f = coefficients(wk, c, s, HALF)
    low, high = norm_and_rotate(k_low, k_high, a, b, e, f, eps, k_factor, HALF)
    place = slot * (HKV * 2 * HALF)
    store_halves(k_cache + place, low, high, slot, HKV, KPAD, HALF)
    store_halves(v_cache + place, v_low.to(tl.float32) * v_factor, v_high.to(tl.float32) * v_factor, slot, HKV, KPAD,
                 HALF)


def run(qkv, wq, wk, cos_sin, positions, slots, k_scale, v_scale, k_cache, v_cache, q, *, eps):
    T, HQ, D = q.shape
    HKV = k_cache.shape[2]
    prepare[(T,)](qkv, wq, wk, cos_sin, positions, slots, k_scale, v_scale, k_cache, v_cache, q, eps, HQ=HQ, HKV=HKV,
                  QPAD=d2k.next_power_of_2(HQ), KPAD=d2k.next_power_of_2(HKV), HALF=D // 2, num_warps=4)
