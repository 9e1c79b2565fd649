"""What PyTorch offers for this task; timed by tests/library.py."""
import torch
import torch.nn.functional as F


def inputs(dims, params, device="cuda"):
    popularity = torch.randn(dims["E"], device=device) * 0.5
    return {"logits": torch.randn(dims["T"], dims["E"], device=device) + popularity,
            "bias": torch.randn(dims["E"], device=device) * 0.03}


def forms(dims, params):
    experts, k, groups, kept, rsf = dims["E"], dims["K"], int(params["G"]), int(params["TG"]), params["rsf"]

    def choose(logits, bias):
        s = logits.sigmoid()
        c = s + bias
        if groups > 1:
            by_group = c.view(-1, groups, experts // groups)
            best = by_group.topk(2, dim=-1).values.sum(-1).topk(kept, dim=-1, sorted=False).indices
            keep = torch.zeros(c.shape[0], groups, dtype=torch.bool, device=c.device).scatter_(1, best, True)
            c = by_group.masked_fill(~keep.unsqueeze(-1), float("-inf")).view(-1, experts)
        ids = c.topk(k, dim=-1).indices
        w = s.gather(1, ids)
        return ids.int(), w * (rsf / w.sum(-1, keepdim=True))

    def plan(ids):
        flat = ids.view(-1)
        # zeros and scatter_add_, not bincount, which waits for the device to learn its size
        count = torch.zeros(experts, dtype=torch.int32, device=flat.device)
        count.scatter_add_(0, flat.long(), torch.ones_like(flat))
        offset = F.pad(count.cumsum(0, dtype=torch.int32), (1, 0))
        return count, offset, flat.argsort(stable=True).int()

    def plan_of_bytes(ids):
        """A sort by the low bits only, where they are enough: one pass instead of four."""
        flat = ids.view(-1)
        count = torch.zeros(experts, dtype=torch.int32, device=flat.device)
        count.scatter_add_(0, flat.long(), torch.ones_like(flat))
        offset = F.pad(count.cumsum(0, dtype=torch.int32), (1, 0))
        short = flat.to(torch.uint8 if experts <= 256 else torch.int16)
        return count, offset, torch.sort(short, stable=True).indices.int()

    def eager(logits, bias):
        ids, w = choose(logits, bias)
        return ids, w, *plan(ids)

    def short_keys(logits, bias):
        ids, w = choose(logits, bias)
        return ids, w, *plan_of_bytes(ids)

    return {"eager": eager, "eager, short sort keys": short_keys,
            "torch.compile": torch.compile(short_keys, dynamic=False)}
