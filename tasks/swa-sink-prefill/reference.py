"""Causal attention with a window and sinks in PyTorch: a masked score matrix with one more column, in double."""
import torch


def reference(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, sink: torch.Tensor, *, window: float,
              scale: float) -> dict[str, torch.Tensor]:
    prompts, tokens, heads, width = q.shape
    group = heads // k.shape[2]
    position = torch.arange(tokens, device=q.device)
    distance = position[:, None] - position[None, :]
    hidden = (distance < 0) | (distance >= window)
    o = torch.empty(q.shape, dtype=torch.bfloat16, device=q.device)
    lse = torch.empty(prompts, heads, tokens, dtype=torch.float32, device=q.device)
    for b in range(prompts):
        for h in range(heads):
            keys, values = k[b, :, h // group].double(), v[b, :, h // group].double()
            scores = (q[b, :, h].double() @ keys.t() * scale).masked_fill(hidden, float("-inf"))
            scores = torch.cat([scores, sink[h].double().expand(tokens, 1)], dim=1)
            lse[b, h] = torch.logsumexp(scores, dim=1)
            o[b, :, h] = torch.softmax(scores, dim=1)[:, :tokens] @ values
    return {"o": o, "lse": lse}
