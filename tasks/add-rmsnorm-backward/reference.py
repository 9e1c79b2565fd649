"""Backward of residual add and RMSNorm in PyTorch, in double precision up to the final rounding."""
import torch


def reference(dy: torch.Tensor, ds_out: torch.Tensor, s: torch.Tensor, rstd: torch.Tensor,
              w: torch.Tensor) -> dict[str, torch.Tensor]:
    grad, through, x, r = dy.double(), ds_out.double(), s.double(), rstd.double().unsqueeze(1)
    g = grad * w.double()
    c = (g * x).mean(dim=1, keepdim=True)
    dx = r * (g - x * r.square() * c) + through
    dw = (grad * x * r).sum(dim=0)
    return {"dx": dx.to(torch.bfloat16), "dw": dw.float()}
