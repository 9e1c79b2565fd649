"""Group-limited routing and its plan in PyTorch, in double precision, by sorting."""
import torch


def reference(logits: torch.Tensor, bias: torch.Tensor, *, G: float, TG: float, rsf: float) -> dict[str, torch.Tensor]:
    tokens, experts = logits.shape
    groups, kept, k = int(G), int(TG), 8
    s = logits.double().sigmoid()
    c = s + bias.double()
    if groups > 1:
        scores = c.view(tokens, groups, -1).topk(2, dim=-1).values.sum(-1)
        best = scores.sort(dim=-1, descending=True, stable=True).indices[:, :kept]
        keep = torch.zeros_like(scores, dtype=torch.bool).scatter_(1, best, True)
        c = c.masked_fill(~keep.repeat_interleave(experts // groups, dim=1), float("-inf"))
    ids = c.sort(dim=-1, descending=True, stable=True).indices[:, :k]
    chosen = s.gather(1, ids)
    flat = ids.reshape(-1)
    count = torch.bincount(flat, minlength=experts)
    offset = torch.nn.functional.pad(count.cumsum(0), (1, 0))
    return {"ids": ids.int(), "w": (rsf * chosen / chosen.sum(-1, keepdim=True)).float(), "count": count.int(),
            "offset": offset.int(), "perm": torch.sort(flat, stable=True).indices.int()}
