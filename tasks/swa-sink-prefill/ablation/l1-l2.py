"""Few positions times the heads of a group; masks at the window's two ends only; softmax begins with the sink."""
import triton
import triton.language as tl
import d2k


@triton.jit
def absorb(s, z, top, mass, acc):
    new_top = tl.maximum(top, tl.max(s, axis=1))
    p = tl.exp2(s - new_top[:, None])
    keep = tl.exp2(top - new_top)
    mass = mass * keep + tl.sum(p, axis=1)
    acc = tl.dot(p.to(tl.bfloat16), z, acc * keep[:, None])
    return new_top, mass, acc


@triton.jit
def attend(q, k, v, sink, o, lse, S, HKV, window, factor, G: tl.constexpr, D: tl.constexpr, ROWS: tl.constexpr,
           OWN: tl.constexpr, TILE: tl.constexpr):
    POSITIONS: tl.constexpr = ROWS // G
    i0 = tl.program_id(0) * POSITIONS
    g = tl.program_id(1) % HKV
    b = tl.program_id(1) // HKV
    row = tl.arange(0, ROWS)
    i = i0 + row // G
    h = g * G + row % G
    d = tl.arange(0, D)
    at = ((b * S + i) * (HKV * G) + h)[:, None] * D + d[None, :]
    x = tl.load(q + at, mask=(i < S)[:, None], other=0.0)
    top = tl.load(sink + h) * 1.4426950408889634
    mass = tl.where(top > -1.0e30, 1.0, 0.0)
    top = tl.maximum(top, -1.0e30)
    acc = tl.zeros((ROWS, D), tl.float32)
    oldest = tl.maximum(i - window, -1)
    first = i0 - tl.cdiv(i0 - max(i0 - window + 1, 0), TILE) * TILE
    # Whole tiles of tokens before the queries': from `clear` on every row sees all of a tile.
    clear = min(first + tl.cdiv(max(max(i0 + POSITIONS - window, 0) - first, 0), TILE) * TILE, i0)
    for start in tl.range(first, clear, TILE):
        j = start + tl.arange(0, TILE)
        token = ((b * S + j) * HKV + g) * D
        y = tl.load(k + token[None, :] + d[:, None], mask=(j >= 0)[None, :], other=0.0)
        s = tl.where(j[None, :] > oldest[:, None], tl.dot(x, y) * factor, float("-inf"))
        z = tl.load(v + token[:, None] + d[None, :], mask=(j >= 0)[:, None], other=0.0)
        top, mass, acc = absorb(s, z, top, mass, acc)
    for start in tl.range(clear, i0, TILE):
        j = start + tl.arange(0, TILE)
        token = ((b * S + j) * HKV + g) * D
        y = tl.load(k + token[None, :] + d[:, None], mask=(j >= 0)[None, :], other=0.0)
        s = tl.dot(x, y) * factor
        z = tl.load(v + token[:, None] + d[None, :], mask=(j >= 0)[:, None], other=0.0)
        top, mass, acc = absorb(s, z, top, mass, acc)
    # The positions of the queries themselves.
    own = i0 + tl.arange(0, OWN)
    token = ((b * S + own) * HKV + g) * D
    own_y = tl.load(k + token[None, :] + d[:, None], mask=(own < S)[None, :], other=0.0)
    own_z = tl.load(v + token[:, None] + d[None, :], mask=(own < S)[:, None], other=0.0)
    own_s = tl.dot(x, own_y) * factor
    own_s = tl.where((own[None, :] <= i[:, None]) & (own[None, :] > oldest[:, None]), own_s, float("-inf"))
    top, mass, acc = absorb(own_s, own_z, top, mass, acc)
    tl.store(o + at, (acc / mass[:, None]).to(tl.bfloat16), mask=(i < S)[:, None])
    tl.store(lse + (b * (HKV * G) + h) * S + i, (top + tl.log2(mass)) * 0.6931471805599453, mask=i < S)


def run(q, k, v, sink, o, lse, *, window, scale):
    B, S, HQ, D = q.shape
    HKV = k.shape[2]
    G = HQ // HKV
    positions = 128 // G
    attend[(d2k.cdiv(S, positions), B * HKV)](
        q, k, v, sink, o, lse, S, HKV, window, scale * 1.4426950408889634, G=G, D=D, ROWS=128, OWN=max(16, positions),
        TILE=64, num_warps=4 if D == 64 else 8, num_stages=3)
