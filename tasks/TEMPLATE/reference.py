"""TODO: the operator in PyTorch, written from task.md and not from oracle.c. Here: softmax of each row, in double."""
import torch


def reference(x: torch.Tensor, *, scale: float) -> dict[str, torch.Tensor]:
    return {"y": torch.softmax(x.double() * scale, dim=-1)}
