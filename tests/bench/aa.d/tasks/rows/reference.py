"""From task.md: x / sqrt(mean of the row's squares + 1e-6) * w."""
import torch


def reference(x, w, way, extra_steps, extra_rows):
    x = x.double()
    y = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * w.double()
    return {"y": y.bfloat16()}
