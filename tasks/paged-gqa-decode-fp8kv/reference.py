"""Decode attention over a paged fp8 cache in PyTorch: gather, restore, plain softmax attention in double."""
import torch


def gather(cache: torch.Tensor, pages: torch.Tensor, n: int) -> torch.Tensor:
    """The first n tokens that the pages hold, [n, HKV, D]."""
    return cache[pages.long()].flatten(0, 1)[:n].double()


def reference(q: torch.Tensor, k_cache: torch.Tensor, v_cache: torch.Tensor, k_scale: torch.Tensor,
              v_scale: torch.Tensor, block_table: torch.Tensor, seq_lens: torch.Tensor, *,
              scale: float) -> dict[str, torch.Tensor]:
    requests, heads, width = q.shape
    page, kv_heads = k_cache.shape[1:3]
    out = torch.empty(requests, heads, width, dtype=torch.float64, device=q.device)
    for b, n in enumerate(seq_lens.tolist()):
        pages = block_table[b, :(n + page - 1) // page]
        k = gather(k_cache, pages, n) * k_scale.double()[:, None]
        v = gather(v_cache, pages, n) * v_scale.double()[:, None]
        grouped = q[b].double().reshape(kv_heads, heads // kv_heads, width)
        weights = torch.softmax(torch.einsum("ghd,tgd->ght", grouped, k) * scale, dim=-1)
        out[b] = torch.einsum("ght,tgd->ghd", weights, v).reshape(heads, width)
    return {"o": out.to(torch.bfloat16)}
