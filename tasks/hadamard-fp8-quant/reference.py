"""The Walsh-Hadamard transform of each row and its fp8 quantisation in PyTorch, in double up to the final rounding."""
import math

import torch

FLOOR, FP8_MAX = 1e-8, 448.0


def rotate(x: torch.Tensor) -> torch.Tensor:
    """H_2n = [[H_n, H_n], [H_n, -H_n]]: sums and differences of the halves, from the whole row down to pairs."""
    m, n = x.shape
    half = n // 2
    while half >= 1:
        parts = x.reshape(m, n // (2 * half), 2, half)
        first, second = parts[:, :, 0], parts[:, :, 1]
        x = torch.stack((first + second, first - second), dim=2).reshape(m, n)
        half //= 2
    return x / math.sqrt(n)


def reference(x: torch.Tensor) -> dict[str, torch.Tensor]:
    y = rotate(x.double())
    s = y.abs().amax(-1, keepdim=True).clamp(min=FLOOR) / FP8_MAX
    codes = (y / s).clamp(-FP8_MAX, FP8_MAX)
    return {"q": codes.float().to(torch.float8_e4m3fn), "s": s.float()}
