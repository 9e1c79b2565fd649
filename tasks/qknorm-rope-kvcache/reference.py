"""Norm, rotary embedding and cache write in PyTorch, in double."""
import torch


def heads_of(x: torch.Tensor, w: torch.Tensor, rows: torch.Tensor, eps: float) -> torch.Tensor:
    """Heads [T, heads, D] normalised, weighted and rotated by the tokens' rows of the table."""
    n = torch.nn.functional.rms_norm(x.double(), (x.shape[-1],), w.double(), eps)
    cos, sin = rows.double()[:, None, :].chunk(2, dim=-1)
    low, high = n.chunk(2, dim=-1)
    return torch.cat((low * cos - high * sin, high * cos + low * sin), dim=-1)


def fp8(x: torch.Tensor) -> torch.Tensor:
    return x.clamp(-448, 448).float().to(torch.float8_e4m3fn)


def reference(qkv: torch.Tensor, wq: torch.Tensor, wk: torch.Tensor, cos_sin: torch.Tensor, positions: torch.Tensor,
              slots: torch.Tensor, k_scale: torch.Tensor, v_scale: torch.Tensor, k_cache: torch.Tensor,
              v_cache: torch.Tensor, *, eps: float) -> dict[str, torch.Tensor]:
    kv_heads, width = k_cache.shape[2:]
    heads = qkv.reshape(qkv.shape[0], -1, width)
    q, k, v = heads.split((heads.shape[1] - 2 * kv_heads, kv_heads, kv_heads), dim=1)
    rows = cos_sin[positions.long()]
    q, k = heads_of(q, wq, rows, eps), heads_of(k, wk, rows, eps)
    mine = slots >= 0
    page, place = slots[mine].long() // 16, slots[mine].long() % 16
    caches = []
    for cache, x, scale in ((k_cache, k, k_scale), (v_cache, v.double(), v_scale)):
        codes = cache.clone().view(torch.uint8)
        codes[page, place] = fp8(x[mine] / scale.double()).view(torch.uint8)
        caches.append(codes.view(torch.float8_e4m3fn))
    return {"k_cache": caches[0], "v_cache": caches[1], "q": q.to(torch.bfloat16)}
