"""What PyTorch offers for this task; timed by tests/library.py."""
import torch

COEFFICIENTS = ((4.0848, -6.8946, 2.9270), (3.9505, -6.3029, 2.6377), (3.7418, -5.5913, 2.3037),
                (2.8769, -3.1427, 1.2046), (2.8366, -3.0525, 1.2012))


def inputs(dims, params, device="cuda"):
    """Of the task's kind: four shared directions and noise of uneven size."""
    batch, rows, cols = dims["B"], dims["R"], dims["C"]
    n, m = min(rows, cols), max(rows, cols)
    size = torch.exp2(-5 * torch.rand(batch, n, 1, device=device))
    noise = torch.randn(batch, n, m, device=device) * size
    weight = torch.tensor([8., 4., 2., 1.], device=device).div(25).sqrt()
    left = torch.randn(batch, n, 4, device=device) * weight
    x = left @ torch.randn(batch, 4, m, device=device) + noise * (0.4**0.5 / 0.38)
    return {"G": (x if rows <= cols else x.mT).bfloat16().contiguous()}


def normalised(g):
    x = g.mT if g.shape[1] > g.shape[2] else g
    return x / (torch.linalg.vector_norm(x, dim=(1, 2), keepdim=True, dtype=torch.float32) + 1e-7).to(x.dtype)


def plain(g):
    """As Muon implementations write it."""
    x = normalised(g)
    for a, b, c in COEFFICIENTS:
        gram = x @ x.mT
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x if g.shape[1] <= g.shape[2] else x.mT.contiguous()


def fused(g):
    """The sums left to the library's epilogues."""
    x = normalised(g)
    for a, b, c in COEFFICIENTS:
        gram = torch.bmm(x, x.mT)
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x if g.shape[1] <= g.shape[2] else x.mT.contiguous()


def gram_side(g):
    """The expert's algorithm from the library's products: two segments, float16 n x n state."""
    x = normalised(g).half()
    for steps in (COEFFICIENTS[:2], COEFFICIENTS[2:]):
        gram, product = torch.bmm(x, x.mT), None
        for i, (a, b, c) in enumerate(steps):
            factor = torch.baddbmm(gram, gram, gram, beta=b, alpha=c)
            factor.diagonal(dim1=1, dim2=2).add_(a)
            if i < len(steps) - 1:
                gram = torch.bmm(torch.bmm(gram, factor), factor)
            product = factor if product is None else torch.bmm(product, factor)
        x = torch.bmm(product, x)
    return (x if g.shape[1] <= g.shape[2] else x.mT).to(g.dtype).contiguous()


def exact(dims, params, G):
    """In single precision, without tf32: double would take too long at these sizes."""
    return plain(G.float())


def forms(dims, params):
    ways = {"eager": plain, "eager, sums in epilogues": fused, "gram side, float16": gram_side,
            "torch.compile": torch.compile(plain, dynamic=False),
            "torch.compile, sums in epilogues": torch.compile(fused, dynamic=False)}
    return {name: lambda G, way=way: way(G) for name, way in ways.items()}
