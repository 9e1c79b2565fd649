"""Split attention over equal shares of the batch's tokens, then a merge of what the cuts separated.

The tokens of all requests, in tiles, form one line, which is cut into as many equal shares as the GPU holds programs at
a time; a program works through one share for one key-value head and all query heads on it. A request that lies in one
share is finished there; a request that was cut leaves an unnormalised piece in each share, and `merge` adds the pieces.

Tokens are the long side of both products: s[token, head] = k q and o[d, head] = v^T p. Codes stay fp8 on their way
through shared memory and become fp16, which holds them exactly, in registers. Keys and values are read as words of two
codes: tensor-core loads can transpose 16-bit words but not bytes, so the even and the odd columns are separate products.
"""
import triton
import triton.language as tl
import d2k

TILE, STAGES, PER_SM, WARPS, REGISTERS = 128, 3, 3, 4, 168


@triton.jit
def tiles_of(seq_lens, B, request, TILE: tl.constexpr):
    return (tl.load(seq_lens + request, mask=request < B, other=0) + TILE - 1) // TILE


@triton.jit
def share_count(most, total):
    """As many shares as there may be, but none of a single tile."""
    return max(min(most, total // 2), 1)


@triton.jit
def load_query(q, first_head, G: tl.constexpr, HEADS: tl.constexpr, D: tl.constexpr):
    """The group's queries as [D, HEADS] fp16, each divided by a power of two, so that fp16 holds it; and the powers."""
    head = tl.arange(0, HEADS)[None, :]
    x = tl.load(q + (first_head + head) * D + tl.arange(0, D)[:, None], mask=head < G, other=0.0).to(tl.float32)
    largest = tl.maximum(tl.max(tl.abs(x), axis=0), 1e-30)
    power = (largest.to(tl.int32, bitcast=True) & 0x7F800000).to(tl.float32, bitcast=True)
    return (x / power[None, :]).to(tl.float16), power


@triton.jit
def code_to_half(code):
    return code.to(tl.int8).to(tl.float8e4nv, bitcast=True).to(tl.float16)


@triton.jit
def attend(q, k_cache, v_cache, k_scale, v_scale, block_table, seq_lens, o, pieces, piece_sums, B, MAXB, scale,
           G: tl.constexpr, HKV: tl.constexpr, D: tl.constexpr, PAGE: tl.constexpr, HEADS: tl.constexpr,
           REQUESTS: tl.constexpr, TILE: tl.constexpr, STAGES: tl.constexpr):
    # Neighbouring programs read the same tokens, whose heads lie side by side in memory.
    g = tl.program_id(0) % HKV
    share = tl.program_id(0) // HKV
    request = tl.arange(0, REQUESTS)
    ends = tl.cumsum(tiles_of(seq_lens, B, request, TILE), axis=0)
    total = tl.max(ends, axis=0)
    shares = share_count(tl.num_programs(0) // HKV, total)
    at = total * share // shares
    stop = tl.where(share < shares, total * (share + 1) // shares, at)

    token = tl.arange(0, TILE)
    head = tl.arange(0, HEADS)
    wide = tl.arange(0, D)
    half = tl.arange(0, D // 2)
    keys = (k_cache + g * D).to(tl.pointer_type(tl.int16))
    values = (v_cache + g * D).to(tl.pointer_type(tl.int16))
    while at < stop:
        b = tl.sum((ends <= at).to(tl.int32), axis=0)
        end = tl.sum(tl.where(request == b, ends, 0), axis=0)
        n = tl.load(seq_lens + b)
        begin = end - (n + TILE - 1) // TILE
        last = min(end, stop)
        first_head = (b * HKV + g) * G
        x, power = load_query(q, first_head, G, HEADS, D)
        x_even, x_odd = tl.split(tl.permute(tl.reshape(x, (D // 2, 2, HEADS)), (0, 2, 1)))
        to_log2 = power * (tl.load(k_scale + g) * scale * 1.4426950408889634)
        top = tl.full((HEADS,), float("-inf"), tl.float32)
        mass = tl.zeros((HEADS,), tl.float32)
        even = tl.zeros((D // 2, HEADS), tl.float32)
        odd = tl.zeros((D // 2, HEADS), tl.float32)
        table = block_table + b.to(tl.int64) * MAXB
        t = (at - begin) * TILE + token
        page = tl.load(table + t // PAGE, mask=t < n, other=0)
        for tile in tl.range(at - begin, last - begin, num_stages=STAGES):
            t = tile * TILE + token
            row = (page.to(tl.int64) * PAGE + token % PAGE) * (HKV * D)
            page = tl.load(table + (t + TILE) // PAGE, mask=t + TILE < n, other=0)      # of the next tile
            k = tl.load(keys + row[:, None] // 2 + half[None, :])
            s = tl.dot(code_to_half(k), x_even)
            s = tl.dot(code_to_half(k >> 8), x_odd, s) * to_log2[None, :]
            v = tl.load(values + row[None, :] // 2 + half[:, None])
            s = tl.where((t < n)[:, None], s, float("-inf"))
            new_top = tl.maximum(top, tl.max(s, axis=0))
            p = tl.exp2(s - new_top[None, :])
            keep = tl.exp2(top - new_top)
            top = new_top
            mass = mass * keep + tl.sum(p, axis=0)
            p = p.to(tl.float16)
            even = tl.dot(code_to_half(v), p, even * keep[None, :])
            odd = tl.dot(code_to_half(v >> 8), p, odd * keep[None, :])
        acc = tl.interleave(tl.trans(even), tl.trans(odd))
        own = head < G
        if (at == begin) & (last == end):
            y = acc * (tl.load(v_scale + g) / mass)[:, None]
            tl.store(o + (first_head + head)[:, None] * D + wide[None, :], y.to(tl.bfloat16), mask=own[:, None])
        else:
            # A share has at most one piece that continues a request and one that only begins one.
            place = ((2 * share + (at == begin).to(tl.int32)) * HKV + g) * G + head
            tl.store(pieces + place[:, None] * D + wide[None, :], acc, mask=own[:, None])
            tl.store(piece_sums + 2 * place, top, mask=own)
            tl.store(piece_sums + 2 * place + 1, mass, mask=own)
        at = last


@triton.jit
def merge(v_scale, seq_lens, o, pieces, piece_sums, B, most_shares, G: tl.constexpr, HKV: tl.constexpr, D: tl.constexpr,
          REQUESTS: tl.constexpr, TILE: tl.constexpr, CHUNK: tl.constexpr):
    """One program for each query head of each request; those whose request was not cut have nothing to do."""
    h = tl.program_id(0)
    b = tl.program_id(1)
    request = tl.arange(0, REQUESTS)
    tiles = tiles_of(seq_lens, B, request, TILE)
    total = tl.sum(tiles, axis=0)
    shares = share_count(most_shares, total)
    begin = tl.sum(tl.where(request < b, tiles, 0), axis=0)
    end = tl.sum(tl.where(request <= b, tiles, 0), axis=0)
    first = ((begin + 1) * shares - 1) // total     # the share of tile x is ((x + 1) * shares - 1) // total
    count = (end * shares - 1) // total - first + 1
    if count > 1:
        d = tl.arange(0, D)
        top = float("-inf")
        mass = 0.0
        acc = tl.zeros((D,), tl.float32)
        for start in range(0, count, CHUNK):
            j = start + tl.arange(0, CHUNK)
            place = (2 * (first + j) + (j == 0).to(tl.int32)) * (HKV * G) + h
            tops = tl.load(piece_sums + 2 * place, mask=j < count, other=float("-inf"))
            masses = tl.load(piece_sums + 2 * place + 1, mask=j < count, other=0.0)
            values = tl.load(pieces + place[:, None] * D + d[None, :], mask=(j < count)[:, None], other=0.0)
            new_top = tl.maximum(top, tl.max(tops, axis=0))
            weight = tl.exp2(tops - new_top)
            keep = tl.exp2(top - new_top)
            top = new_top
            mass = mass * keep + tl.sum(weight * masses, axis=0)
            acc = acc * keep + tl.sum(weight[:, None] * values, axis=0)
        y = acc * (tl.load(v_scale + h // G) / mass)
        tl.store(o + (b * HKV * G + h) * D + d, y.to(tl.bfloat16))


def run(q, k_cache, v_cache, k_scale, v_scale, block_table, seq_lens, o, *, scale):
    B, HQ, D = q.shape
    PAGE, HKV = k_cache.shape[1], k_cache.shape[2]
    MAXB = block_table.shape[1]
    most_tiles = B * d2k.cdiv(MAXB * PAGE, TILE)
    most_shares = max(1, min(d2k.num_sms() * PER_SM // HKV, most_tiles))
    pieces = d2k.empty((2 * most_shares, HQ, D), d2k.float32)
    piece_sums = d2k.empty((2 * most_shares, HQ, 2), d2k.float32)
    shape = dict(G=HQ // HKV, HKV=HKV, D=D, REQUESTS=max(16, d2k.next_power_of_2(B)), TILE=TILE)
    attend[(most_shares * HKV,)](q, k_cache, v_cache, k_scale, v_scale, block_table, seq_lens, o, pieces, piece_sums, B,
                                 MAXB, scale, PAGE=PAGE, HEADS=max(8, d2k.next_power_of_2(HQ // HKV)), STAGES=STAGES,
                                 **shape, num_warps=WARPS, maxnreg=REGISTERS)
    merge[(HQ, B)](v_scale, seq_lens, o, pieces, piece_sums, B, most_shares, CHUNK=32, **shape)
