"""Right, and built otherwise: a program takes one head of a few tokens, loads it twice, the second time with its halves
exchanged, divides by a square root and by the scales, and writes whole heads."""
import triton
import triton.language as tl
import d2k


@triton.jit
def heads(qkv, w, cos_sin, positions, slots, scale, out, T, FIRST, COUNT, ALL, eps, D: tl.constexpr,
          ROTATE: tl.constexpr, CACHE: tl.constexpr, TOKENS: tl.constexpr):
    token = (tl.program_id(0) * TOKENS + tl.arange(0, TOKENS)).to(tl.int64)
    valid = token < T
    head = tl.program_id(1)
    d = tl.arange(0, D)
    partner = (d + D // 2) % D
    row = qkv + ((token * ALL + FIRST + head) * D)[:, None]
    y = tl.load(row + d[None, :], mask=valid[:, None], other=0.0).to(tl.float32)
    if ROTATE:
        root = tl.sqrt(tl.sum(y * y, axis=1) / D + eps)[:, None]
        other = tl.load(row + partner[None, :], mask=valid[:, None], other=0.0).to(tl.float32)
        table = cos_sin + (tl.load(positions + token, mask=valid, other=0).to(tl.int64) * D)[:, None]
        c = tl.load(table + (d % (D // 2))[None, :])
        s = tl.load(table + (D // 2 + d % (D // 2))[None, :])
        y = y * tl.load(w + d).to(tl.float32)[None, :] / root
        other = other * tl.load(w + partner).to(tl.float32)[None, :] / root
        y = y * c + tl.where((d < D // 2)[None, :], -other, other) * s
    if CACHE:
        place = tl.load(slots + token, mask=valid, other=-1).to(tl.int64)
        y = y / tl.load(scale)
    else:
        place = tl.where(valid, token, -1)
    at = out + ((place * COUNT + head) * D)[:, None] + d[None, :]
    tl.store(at, y.to(out.dtype.element_ty), mask=(place >= 0)[:, None])


def run(qkv, wq, wk, cos_sin, positions, slots, k_scale, v_scale, k_cache, v_cache, q, *, eps):
    T, HQ, D = q.shape
    HKV = k_cache.shape[2]
    tiles = d2k.cdiv(T, 16)
    for w, scale, out, first, count, rotate, cache in ((wq, k_scale, q, 0, HQ, True, False),
                                                       (wk, k_scale, k_cache, HQ, HKV, True, True),
                                                       (wk, v_scale, v_cache, HQ + HKV, HKV, False, True)):
        heads[(tiles, count)](qkv, w, cos_sin, positions, slots, scale, out, T, first, count, HQ + 2 * HKV, eps, D=D,
                              ROTATE=rotate, CACHE=cache, TOKENS=16)
