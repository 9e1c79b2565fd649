"""The 2048 first of a stable sort by falling score, put in order of index, in PyTorch."""
import torch


def reference(score: torch.Tensor, lens: torch.Tensor) -> dict[str, torch.Tensor]:
    idx = torch.full((score.shape[0], 2048), -1, dtype=torch.int32, device=score.device)
    for b, n in enumerate(lens.tolist()):
        order = torch.sort(score[b, :n], descending=True, stable=True).indices[:2048]
        idx[b, :order.numel()] = order.sort().values.int()
    return {"idx": idx}
