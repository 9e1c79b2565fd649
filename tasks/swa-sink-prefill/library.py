"""The same operator by PyTorch: eager in chunks of queries, FlexAttention, its FlashAttention 2, which knows windows.

None of these kernels has sinks. A sink is a factor on the output and a term of lse, applied afterwards in one
compiled pointwise pass.
"""
import torch


def inputs(dims, params, device="cuda"):
    B, S, HQ, HKV, D, W = (dims[n] for n in ("B", "S", "HQ", "HKV", "D", "W"))
    bf16 = dict(dtype=torch.bfloat16, device=device)
    two = torch.tensor(2.0, device=device)
    k_size = two ** torch.randint(-2, 3, (HKV, 1), device=device)
    v_size = two ** torch.randint(-3, 4, (HKV, 1), device=device)
    k = torch.randn(B, S, HKV, D, **bf16) * k_size.bfloat16()
    v = (torch.randn(B, S, HKV, D, **bf16) + 0.5 * torch.randn(HKV, D, **bf16)) * v_size.bfloat16()
    position = torch.arange(S, device=device)
    kind = (torch.arange(HQ, device=device)[None, :] + position[:, None] // 8) % 8
    noise = torch.tensor([0.25, 1, 3, 1, 1, 1, 1, 2], device=device)[kind] / (params["scale"] * D ** 0.5)
    found = torch.tensor([0.0, 0, 0, 9, 9, 9, 9, 100], device=device)[kind] / (params["scale"] * D)
    back = torch.tensor([0, 0, 0, 0, W - 1, W, -1, 7 % W], device=device)[kind]
    token = (position[:, None] - back).clamp(0, S - 1)
    q = torch.empty(B, S, HQ, D, **bf16)
    size = k_size.repeat_interleave(HQ // HKV, 0)
    for b in range(B):
        for h in range(HQ):
            q[b, :, h] = (torch.randn(S, D, device=device) * (noise[:, h, None] / size[h])
                          + k[b, token[:, h], h // (HQ // HKV)] * (found[:, h, None] / size[h] ** 2))
    sink = torch.rand(HQ, device=device) * 12 - 3
    sink[dims["SINKS"]:] = float("-inf")
    return {"q": q, "k": k, "v": v, "sink": sink}


def add_sink(o, lse, sink):
    """o [B, S, HQ, D] and lse [B, HQ, S] without sinks, to those with them."""
    share = torch.sigmoid(lse - sink[:, None])
    return (o * share.transpose(1, 2).unsqueeze(-1)).to(o.dtype), torch.logaddexp(lse, sink[:, None])


def forms(dims, params):
    B, S, HQ, HKV, D = (dims[n] for n in ("B", "S", "HQ", "HKV", "D"))
    G = HQ // HKV
    window, scale = min(int(params["window"]), S), params["scale"]
    CHUNK = 512

    def eager(q, k, v, sink):
        o = torch.empty_like(q)
        lse = torch.empty(B, HQ, S, dtype=torch.float32, device=q.device)
        for b in range(B):
            for first in range(0, S, CHUNK):
                end, begin = min(first + CHUNK, S), max(first - window + 1, 0)
                i = torch.arange(first, end, device=q.device)[:, None]
                j = torch.arange(begin, end, device=q.device)[None, :]
                keys = k[b, begin:end].permute(1, 2, 0)
                values = v[b, begin:end].transpose(0, 1)
                x = q[b, first:end].reshape(end - first, HKV, G, D).permute(1, 2, 0, 3).reshape(HKV, -1, D)
                s = torch.matmul(x, keys).float().reshape(HQ, end - first, end - begin) * scale
                s = s.masked_fill((j > i) | (j <= i - window), float("-inf"))
                z = torch.logaddexp(torch.logsumexp(s, dim=-1), sink[:, None])
                p = torch.exp(s - z[..., None]).to(q.dtype).reshape(HKV, -1, end - begin)
                o[b, first:end] = torch.matmul(p, values).reshape(HQ, end - first, D).transpose(0, 1)
                lse[b, :, first:end] = z
        return o, lse

    out = {"eager": eager}
    if not torch.cuda.is_available():
        return out

    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    def seen(b, h, i, j):
        return (i >= j) & (i - j < window)

    mask = create_block_mask(seen, None, None, S, S, device="cuda")

    def flex(q, k, v, sink):
        o, lse = flex_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), block_mask=mask, scale=scale,
                                enable_gqa=True, return_lse=True)
        return add_sink(o.transpose(1, 2), lse, sink)

    compiled_sink = torch.compile(add_sink)

    def flash(q, k, v, sink):
        more = {} if window >= S else {"window_size_left": window - 1, "window_size_right": 0}
        o, lse = torch.ops.aten._flash_attention_forward(q, k, v, None, None, S, S, 0.0, True, False, scale=scale,
                                                         **more)[:2]
        return compiled_sink(o, lse, sink)

    def cudnn(q, k, v, sink):
        x, y, z = (t.transpose(1, 2) for t in (q, k, v))
        o, lse = torch.ops.aten._scaled_dot_product_cudnn_attention(
            x, y.repeat_interleave(G, 1), z.repeat_interleave(G, 1), None, True, 0.0, True, False, scale=scale)[:2]
        return compiled_sink(o.transpose(1, 2), lse.reshape(B, HQ, S), sink)

    out["flex_attention"] = torch.compile(flex)
    out["flash_attention_2"] = flash
    if window >= S:
        out["cudnn_sdpa"] = cudnn
    return out
