"""What PyTorch offers for this task; timed by tests/library.py. All forms start from the fp8 pages, so gathering and
restoring them is part of a call. The lengths are known to the host here, which a submission cannot know; this favours the
library."""
import torch
import torch.nn.functional as F

FP8 = torch.float8_e4m3fn


def lengths(b, low, high):
    """Pairs that add up to low + high, uneven, as the task's own generator makes them."""
    out = []
    for pair in range(b // 2):
        short = low + int((high - low) / 2 * ((pair + 0.5) / (b // 2))**2) if pair else low
        out += [short, low + high - short]
    return out + [(low + high) // 2] * (b % 2)


def inputs(dims, params, device="cuda"):
    n = lengths(dims["B"], dims["LMIN"], dims["LMAX"])
    order = torch.randperm(dims["NB"], device=device, dtype=torch.int64).int()
    table = torch.full((dims["B"], dims["MAXB"]), -1, device=device, dtype=torch.int32)
    at = 0
    for b, length in enumerate(n):
        pages = -(-length // 16)
        table[b, :pages] = order[at:at + pages]
        at += pages
    shape = (dims["NB"], 16, dims["HKV"], dims["D"])
    k, v = (torch.randint(0, 0x60, shape, device=device, dtype=torch.uint8).view(FP8) for _ in range(2))
    q = torch.randn(dims["B"], dims["HQ"], dims["D"], device=device, dtype=torch.bfloat16)
    ks, vs = (torch.rand(dims["HKV"], device=device) * 0.1 + 0.05 for _ in range(2))
    return {"q": q, "k_cache": k, "v_cache": v, "k_scale": ks, "v_scale": vs, "block_table": table,
            "seq_lens": torch.tensor(n, device=device, dtype=torch.int32)}


def gather(cache, scale, pages):
    """[tokens, HKV, D] in bf16."""
    codes = cache.view(torch.uint8)[pages].view(FP8).flatten(-4, -3)
    return codes.to(torch.bfloat16) * scale.to(torch.bfloat16)[:, None]


def attend_each(n, scale):
    """One scaled_dot_product_attention for each request, on gathered pages."""

    def call(q, k_cache, v_cache, k_scale, v_scale, block_table, seq_lens):
        out = []
        for b, length in enumerate(n):
            pages = block_table[b, :-(-length // 16)].long()
            k, v = gather(k_cache, k_scale, pages)[:length], gather(v_cache, v_scale, pages)[:length]
            k, v = k.transpose(0, 1)[None], v.transpose(0, 1)[None]
            out.append(F.scaled_dot_product_attention(q[b:b + 1, :, None], k, v, scale=scale, enable_gqa=True))
        return torch.cat(out)[:, :, 0]

    return call


def attend_padded(scale):
    """All requests at once, padded to the longest, in plain operations for the compiler to fuse."""

    def call(q, k_cache, v_cache, k_scale, v_scale, block_table, seq_lens):
        b, hq, d = q.shape
        hkv = k_cache.shape[2]
        pages = block_table.clamp(min=0).long()
        k, v = gather(k_cache, k_scale, pages), gather(v_cache, v_scale, pages)
        s = torch.einsum("bghd,btgd->bght", q.view(b, hkv, hq // hkv, d), k).float() * scale
        valid = torch.arange(k.shape[1], device=q.device)[None] < seq_lens[:, None]
        p = torch.softmax(s.masked_fill(~valid[:, None, None], float("-inf")), -1).to(torch.bfloat16)
        return torch.einsum("bght,btgd->bghd", p, v).reshape(b, hq, d)

    return call


def attend_flex(scale, b):
    """flex_attention with its decode kernel, on gathered pages padded to the longest request."""
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention
    flex = torch.compile(flex_attention, dynamic=False)
    restore = torch.compile(gather, dynamic=False)
    masks = {}

    def call(q, k_cache, v_cache, k_scale, v_scale, block_table, seq_lens):
        pages = block_table.clamp(min=0).long()
        k = restore(k_cache, k_scale, pages).transpose(1, 2)
        v = restore(v_cache, v_scale, pages).transpose(1, 2)
        if not masks:  # made in the warm-up, as all sets have the same lengths; a server makes it once for all layers
            masks[0] = create_block_mask(lambda i, h, q_at, kv_at: kv_at < seq_lens[i], b, None, 1, k.shape[2],
                                         device=q.device)
        return flex(q[:, :, None], k, v, block_mask=masks[0], scale=scale, enable_gqa=True)[:, :, 0]

    return call


def forms(dims, params):
    n = lengths(dims["B"], dims["LMIN"], dims["LMAX"])
    scale = params["scale"]
    return {"sdpa for each request": attend_each(n, scale), "flex-attention": attend_flex(scale, dims["B"]),
            "torch.compile": torch.compile(attend_padded(scale), dynamic=False), "eager": attend_padded(scale)}
