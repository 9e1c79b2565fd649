"""Library implementations to compare with: what PyTorch has, from scores and lengths to indices in order."""
import torch

KEEP = 2048


def inputs(dims, params, device="cuda"):
    """Normal scores with a part that neighbours share, in rows of different scale; large numbers behind the ends."""
    B, N, low, high = (dims[k] for k in ("B", "N", "LMIN", "LMAX"))
    score = torch.randn(B, N, device=device)
    bump = torch.randn(B, (N + 127) // 128, device=device) * torch.rand(B, 1, device=device) * 0.5
    score += bump.repeat_interleave(128, dim=1)[:, :N]
    score *= torch.pow(2.0, torch.randint(-2, 3, (B, 1), device=device))
    score[::4] = score[::4].bfloat16().float()
    if dims["CAUSAL"]:
        lens = torch.arange(low, low + B, dtype=torch.int32, device=device)
    else:
        shorter = low + ((high - low) / 2 * torch.rand((B + 1) // 2, device=device) ** 2).int()
        lens = torch.cat([shorter, low + high - shorter])[:B][torch.randperm(B, device=device)].int()
    stale = torch.arange(N, device=device)[None, :] >= lens[:, None]
    score.masked_fill_(stale, 1e30)
    return {"score": score + 0.0, "lens": lens}


def masked(score, lens):
    stale = torch.arange(score.shape[1], device=score.device)[None, :] >= lens[:, None]
    return score.masked_fill(stale, float("-inf"))


def in_order(index, lens):
    """Chosen indices, in any order, by ascending index, then -1 for those that are not valid."""
    past = torch.iinfo(torch.int32).max
    index = torch.where(index < lens[:, None], index.int(), past).sort(dim=1).values
    return torch.where(index == past, -1, index)


def padded(index):
    return torch.nn.functional.pad(index, (0, KEEP - index.shape[1]), value=2 ** 31 - 1)


def by_topk(score, lens):
    """Which of equal scores wins is not defined: less than the task asks for."""
    index = torch.topk(masked(score, lens), min(KEEP, score.shape[1]), dim=1, sorted=False).indices
    return in_order(padded(index), lens)


def by_sort(score, lens):
    """Ties by index, as the task asks for."""
    index = torch.sort(masked(score, lens), dim=1, descending=True, stable=True).indices[:, :KEEP]
    return in_order(padded(index), lens)


def forms(dims, params):
    compiled = torch.compile(by_topk)
    return {"eager": by_sort, "torch.topk": by_topk, "torch.compile topk": compiled}
