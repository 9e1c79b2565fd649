"""SwiGLU and its two block-scaled fp8 quantisations in PyTorch, in double precision up to the final rounding."""
import torch

BLOCK, FLOOR, FP8_MAX = 128, 1e-4, 448.0


def quantise(blocks: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Scales each length-128 vector along the last axis; returns codes and scales."""
    scale = blocks.abs().amax(-1).clamp(min=FLOOR) / FP8_MAX
    codes = (blocks / scale.unsqueeze(-1)).clamp(-FP8_MAX, FP8_MAX)
    # By way of float32: torch has no direct cast from double that saturates. The double rounding moves ties only.
    return codes.float().to(torch.float8_e4m3fn), scale.float()


def reference(gu: torch.Tensor) -> dict[str, torch.Tensor]:
    gate, up = gu.double().chunk(2, dim=-1)
    h = torch.nn.functional.silu(gate) * up
    m, f = h.shape
    q, sr = quantise(h.reshape(m, f // BLOCK, BLOCK))
    qt, sc = quantise(h.t().reshape(f, m // BLOCK, BLOCK))
    return {"q": q.reshape(m, f), "sr": sr, "qt": qt.reshape(f, m), "sc": sc}
