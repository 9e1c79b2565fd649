"""Attention over a window: rows of a tile are few positions times all query heads that share a key-value head.

A tile of 128 rows so spans few positions, and the tokens that any of its rows sees are hardly more than the tokens
that each row sees. The queries' own positions are one short tile, for which alone later tokens must be hidden; it is
loaded at the very start, with the queries, and used first. Older tokens follow in whole tiles that are counted back
from the first position of the queries, of which only those at the window's old edge need a mask.
"""
import triton
import triton.language as tl
import d2k
from triton.tools.tensor_descriptor import TensorDescriptor

LOG2E = 1.4426950408889634


@triton.jit
def absorb(s, z, factor, top, mass, acc):
    """Softmax state after more scores: s unscaled, of which the hidden ones are minus infinity, and their values z."""
    new_top = tl.maximum(top, tl.max(s, axis=1) * factor)
    p = tl.exp2(s * factor - new_top[:, None])
    keep = tl.exp2(top - new_top)
    mass = mass * keep + tl.sum(p, axis=1)
    acc = tl.dot(p.to(tl.bfloat16), z, acc * keep[:, None])
    return new_top, mass, acc


@triton.jit
def attend(q, k, v, sink, o, lse, keys, values, S, window, factor, B: tl.constexpr, HKV: tl.constexpr, G: tl.constexpr,
           D: tl.constexpr, ROWS: tl.constexpr, OWN: tl.constexpr, TILE: tl.constexpr, STAGES: tl.constexpr):
    POSITIONS: tl.constexpr = ROWS // G
    # The last positions see most and go first; programs of one position and all heads follow each other.
    i0 = (tl.num_programs(0) // (B * HKV) - 1 - tl.program_id(0) // (B * HKV)) * POSITIONS
    b = tl.program_id(0) % (B * HKV) // HKV
    g = tl.program_id(0) % HKV
    row = tl.arange(0, ROWS)
    d = tl.arange(0, D)
    i = i0 + row // G
    h = g * G + row % G
    at = ((b * S + i) * (HKV * G) + h)[:, None] * D + d[None, :]
    own = i0 + tl.arange(0, OWN)
    own_at = ((b * S + own) * HKV + g)[:, None] * D + d[None, :]
    x = tl.load(q + at, mask=(i < S)[:, None], other=0.0)
    own_y = tl.load(k + own_at, mask=(own < S)[:, None], other=0.0)
    own_z = tl.load(v + own_at, mask=(own < S)[:, None], other=0.0)

    # The sink is where softmax begins.
    top = tl.load(sink + h) * 1.4426950408889634
    mass = tl.where(top > -1.0e30, 1.0, 0.0)
    top = tl.maximum(top, -1.0e30)
    oldest = tl.maximum(i - window, -1)
    tiles = tl.cdiv(i0 - max(i0 - window + 1, 0), TILE)
    clear = max(i0 + POSITIONS - window, 0)
    own_s = tl.dot(x, own_y.T)
    own_s = tl.where((own[None, :] <= i[:, None]) & (own[None, :] > oldest[:, None]), own_s, float("-inf"))
    new_top = tl.maximum(top, tl.max(own_s, axis=1) * factor)
    own_p = tl.exp2(own_s * factor - new_top[:, None])
    mass = mass * tl.exp2(top - new_top) + tl.sum(own_p, axis=1)
    acc = tl.dot(own_p.to(tl.bfloat16), own_z)
    top = new_top
    for start in tl.range(i0 - tiles * TILE, i0, TILE, num_stages=STAGES):
        y = keys.load([b * S + start, g * D])
        s = tl.dot(x, y.T)
        if start < clear:
            j = start + tl.arange(0, TILE)
            s = tl.where(j[None, :] > oldest[:, None], s, float("-inf"))
        z = values.load([b * S + start, g * D])
        top, mass, acc = absorb(s, z, factor, top, mass, acc)
    tl.store(o + at, (acc * (1.0 / mass)[:, None]).to(tl.bfloat16), mask=(i < S)[:, None])
    tl.store(lse + (b * (HKV * G) + h) * S + i, (top + tl.log2(mass)) * 0.6931471805599453, mask=i < S)


def run(q, k, v, sink, o, lse, *, window, scale):
    B, S, HQ, D = q.shape
    HKV = k.shape[2]
    G = HQ // HKV
    ROWS, TILE, STAGES, WARPS = (128, 64, 3, 4) if D == 64 else (128, 128, 2, 8)
    keys = TensorDescriptor(k, [B * S, HKV * D], [HKV * D, 1], [TILE, D])
    values = TensorDescriptor(v, [B * S, HKV * D], [HKV * D, 1], [TILE, D])
    positions = ROWS // G
    attend[(d2k.cdiv(S, positions) * B * HKV,)](
        q, k, v, sink, o, lse, keys, values, S, window, scale * LOG2E, B=B, HKV=HKV, G=G, D=D, ROWS=ROWS,
        OWN=max(16, positions), TILE=TILE, STAGES=STAGES, num_warps=WARPS)
