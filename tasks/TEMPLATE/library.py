"""TODO: what PyTorch offers for this task; timed by tests/library.py."""
import torch


def inputs(dims, params, device="cuda"):
    return {"x": torch.randn(dims["R"], dims["C"], device=device, dtype=torch.bfloat16) * 8}


def forms(dims, params):
    scale = params["scale"]

    def softmax(x):
        return torch.softmax(x.float() * scale, dim=-1).bfloat16()

    return {"eager": softmax, "torch.compile": torch.compile(softmax, dynamic=False)}
