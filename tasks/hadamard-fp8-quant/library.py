"""The operator in PyTorch, for comparison: the product with the Hadamard matrix, or sums and differences, then the
quantisation."""
import functools
import math

import torch

FLOOR, FP8_MAX = 1e-8, 448.0


def inputs(dims, params, device="cuda"):
    """Normal rows with channels of different sizes, some large; padding; rows with one channel far above the rest."""
    m, n = dims["M"], dims["N"]
    size = 0.5 + torch.rand(n, device=device)
    size *= torch.where(torch.rand(n, device=device) < 1 / 64, 16.0, 1.0)
    x = torch.empty(m, n, dtype=torch.bfloat16, device=device)
    for part in x.split(max(1, 2 ** 24 // n)):
        part.copy_(torch.randn(part.shape, device=device) * size)
    x[::32] = 0
    rows = torch.arange(1, m, 16, device=device)
    x[rows, torch.randint(n, rows.shape, device=device)] = 1024.0
    return {"x": x}


def hadamard(n, device):
    h = torch.ones(1, 1, device=device)
    while h.shape[0] < n:
        h = torch.cat((torch.cat((h, h), 1), torch.cat((h, -h), 1)))
    return h.to(torch.bfloat16)


def quantise(y, factor):
    s = (y.abs().amax(-1, keepdim=True).float() * factor).clamp(min=FLOOR) / FP8_MAX
    return (y.float() * (factor / s)).clamp(-FP8_MAX, FP8_MAX).to(torch.float8_e4m3fn), s


def dense(x, h):
    return quantise(x @ h, 1 / math.sqrt(x.shape[1]))


def factored(x, h):
    """The row as a matrix with 64 columns, and a small factor from each side."""
    m, n = x.shape
    high = n // 64
    y = x.reshape(m, high, 64) @ h[:64, :64]
    y = torch.matmul(h[:high, :high], y)
    return quantise(y.reshape(m, n), 1 / math.sqrt(n))


def butterflies(x):
    """Sums and differences of halves, in fp32."""
    m, n = x.shape
    y = x.float()
    half = n // 2
    while half >= 1:
        parts = y.reshape(m, n // (2 * half), 2, half)
        first, second = parts[:, :, 0], parts[:, :, 1]
        y = torch.stack((first + second, first - second), dim=2).reshape(m, n)
        half //= 2
    return quantise(y, 1 / math.sqrt(n))


def forms(dims, params):
    """Dense and factored eager, and each of them compiled; the butterflies only compiled. The matrix is made at the
    first call, outside the timed window, as a user of the library would keep it."""
    @functools.cache
    def matrix(device):
        return hadamard(dims["N"], device)

    def with_matrix(form):
        return lambda x: form(x, matrix(x.device))

    return {
        "eager": with_matrix(dense),
        "eager, factored": with_matrix(factored),
        "torch.compile": with_matrix(torch.compile(dense)),
        "torch.compile, factored": with_matrix(torch.compile(factored)),
        "torch.compile, butterflies": torch.compile(butterflies),
    }
