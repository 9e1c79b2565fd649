"""The operator in PyTorch, for comparison: rms_norm, rotation, and codes put into the caches by index."""
import torch

FP8_MAX = 448.0


def inputs(dims, params, device="cuda"):
    """Heads of different sizes, requests of a sixteenth of the tokens that begin anywhere, shuffled pages, and SKIP
    tokens without a slot."""
    T, HQ, HKV, D, NB, maxpos = (dims[n] for n in ("T", "HQ", "HKV", "D", "NB", "MAXPOS"))
    heads = HQ + 2 * HKV
    size = 2.0 ** torch.randint(-2, 3, (heads, 1), device=device)
    qkv = torch.empty(T, heads, D, dtype=torch.bfloat16, device=device)
    for part in qkv.split(2048):
        part.copy_(torch.randn(part.shape, device=device) * size)
    turns = (1e6 ** (-torch.arange(D // 2, device=device, dtype=torch.float64) / (D // 2)))
    angle = torch.arange(maxpos, device=device)[:, None] * turns
    token = torch.arange(T, device=device)
    span = max(8, T // 16)
    start = torch.randint(0, maxpos - 2 * span, (T // span + 1,), device=device)
    page = torch.randperm(NB, device=device)
    slots = page[token // 16] * 16 + token % 16
    slots[torch.randperm(T, device=device)[:dims["SKIP"]]] = -1
    return {
        "qkv": qkv.reshape(T, heads * D),
        "wq": (1 + 0.25 * torch.randn(D, device=device)).to(torch.bfloat16),
        "wk": (1 + 0.25 * torch.randn(D, device=device)).to(torch.bfloat16),
        "cos_sin": torch.cat((angle.cos(), angle.sin()), dim=1).float(),
        "positions": (start[token // span] + token % span).int(),
        "slots": slots.int(),
        "k_scale": torch.full((1,), 0.0131, device=device),
        "v_scale": torch.full((1,), 0.0173, device=device),
        "k_cache": torch.randn(NB, 16, HKV, D, device=device).to(torch.float8_e4m3fn),
        "v_cache": torch.randn(NB, 16, HKV, D, device=device).to(torch.float8_e4m3fn),
    }


def operator(eps):
    def rotate(x, w, rows):
        n = torch.nn.functional.rms_norm(x.float(), (x.shape[-1],), w.float(), eps)
        cos, sin = rows.chunk(2, dim=-1)
        low, high = n.chunk(2, dim=-1)
        return torch.cat((low * cos - high * sin, high * cos + low * sin), dim=-1)

    def put(cache, at, x, scale):
        codes = (x.float() / scale).clamp(-FP8_MAX, FP8_MAX).to(torch.float8_e4m3fn)
        cache.view(torch.uint8).flatten(0, 1)[at] = codes.view(torch.uint8)

    def run(qkv, wq, wk, cos_sin, positions, slots, k_scale, v_scale, k_cache, v_cache):
        kv_heads, width = k_cache.shape[2:]
        heads = qkv.view(qkv.shape[0], -1, width)
        q, k, v = heads.split((heads.shape[1] - 2 * kv_heads, kv_heads, kv_heads), dim=1)
        rows = cos_sin[positions][:, None, :]
        # Shapes must not depend on values: a token without a slot writes what the first one that has a slot writes.
        mine = slots >= 0
        source = torch.where(mine, torch.arange(len(slots), device=slots.device), mine.int().argmax())
        put(k_cache, slots[source], rotate(k, wk, rows)[source], k_scale)
        put(v_cache, slots[source], v[source], v_scale)
        return rotate(q, wq, rows).to(torch.bfloat16)

    return run


def forms(dims, params):
    run = operator(params["eps"])
    return {"eager": run, "torch.compile": torch.compile(run)}
