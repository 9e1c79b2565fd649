"""Times PyTorch's best ways of muon-gram-orthogonalize on the current GPU, to be reported beside the task's own kernels.

One JSON line for each workload and way: {"task", "workload", "library", "ns"}; ns is the median GPU time of a call, or
null with "error" if it failed. Each call is a CUDA graph; calls walk over inputs that together exceed the L2 cache
several times. Usage: python3 tests/bench/library_muon.py [seconds, default 55]
"""
import json
import pathlib
import statistics
import sys
import time

import torch

TASK = "muon-gram-orthogonalize"
ROOT = pathlib.Path(__file__).resolve().parents[2]
COEFFICIENTS = ((4.0848, -6.8946, 2.9270), (3.9505, -6.3029, 2.6377), (3.7418, -5.5913, 2.3037),
                (2.8769, -3.1427, 1.2046), (2.8366, -3.0525, 1.2012))


def make(batch, rows, cols, seed):
    """Inputs of the task's kind: four shared directions and noise of uneven size."""
    g = torch.Generator("cuda").manual_seed(seed)
    n, m = min(rows, cols), max(rows, cols)
    size = torch.exp2(-5 * torch.rand(batch, n, 1, generator=g, device="cuda"))
    noise = torch.randn(batch, n, m, generator=g, device="cuda") * size
    weight = torch.tensor([8., 4., 2., 1.], device="cuda").div(25).sqrt()
    left = torch.randn(batch, n, 4, generator=g, device="cuda") * weight
    x = left @ torch.randn(batch, 4, m, generator=g, device="cuda") + noise * (0.4**0.5 / 0.38)
    return (x if rows <= cols else x.mT).bfloat16().contiguous()


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


def exact_error(way, g):
    """Relative Frobenius error of the first matrix against double precision."""
    x = g[0].double() if g.shape[1] <= g.shape[2] else g[0].double().T
    x = x / torch.linalg.matrix_norm(x)
    for a, b, c in COEFFICIENTS:
        gram = x @ x.T
        x = a * x + (b * gram + c * gram @ gram) @ x
    out = way(g[:1])[0].double()
    x = x if g.shape[1] <= g.shape[2] else x.T
    return float(torch.linalg.matrix_norm(out - x) / torch.linalg.matrix_norm(x))


def captured(way, inputs):
    """One graph for each input; they share memory for what they make."""
    pool, graphs = None, []
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(2):
            way(inputs[0])
    torch.cuda.current_stream().wait_stream(side)
    for g in inputs:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=pool):
            way(g)
        pool = graph.pool()
        graphs.append(graph)
    return graphs


def measure(way, inputs, calls=24):
    graphs = captured(way, inputs)
    times = []
    for i in range(calls + 6):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        graphs[i % len(graphs)].replay()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end))
    return int(1e6 * statistics.median(times[6:]))


def main():
    end = time.monotonic() + float(sys.argv[1] if len(sys.argv) > 1 else 55)
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    workloads = [json.loads(line) for line in (ROOT / f"workloads/{TASK}.jsonl").read_text().splitlines()]
    workloads = [w for w in workloads if w["tier"] == "bench"]
    ways = {"eager": plain, "eager, sums in epilogues": fused, "gram side, float16": gram_side,
            "compiled": torch.compile(plain, dynamic=False), "compiled, sums in epilogues": torch.compile(fused, dynamic=False)}
    for name, way in ways.items():
        for w in workloads:
            record = {"task": TASK, "workload": w["id"], "library": f"torch {torch.__version__}, {name}", "ns": None}
            try:
                if time.monotonic() > end:
                    raise TimeoutError("no time left")
                dims = [w["dims"][k] for k in ("B", "R", "C")]
                nbytes = 2 * dims[0] * dims[1] * dims[2]
                inputs = [make(*dims, seed) for seed in range(max(2, -(-240 * 2**20 // nbytes)))]
                if not name.startswith("compiled"):
                    record["rfe"] = exact_error(way, inputs[0])
                record["ns"] = measure(way, inputs)
            except Exception as e:  # one way failing must not cost the others
                record["error"] = f"{type(e).__name__}: {e}".splitlines()[0][:200]
            inputs = None
            torch.cuda.empty_cache()
            print(json.dumps(record), flush=True)


if __name__ == "__main__":
    main()
