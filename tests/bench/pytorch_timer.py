"""What d2k-time does for one record, done as benchmarks in PyTorch do it: to be held against it by the clock
(tests/bench/versus). An honest one: the submission's source as it is, the same workloads, inputs from three seeds, every
output compared with tasks/NAME/reference.py, then do_bench for submission, baseline and expert.

    python3 tests/bench/pytorch_timer.py TASK SUBMISSION.py [--root DIR]

One JSON line for each bench workload: {"task", "workload", "correct", "ns": {"candidate", "baseline", "expert"}, "speedup"}.
Exit status 1 when an output is not right. The module d2k is stood in for by PyTorch: empty and zeros allocate, as they
would in a framework; kernels compile when first launched, or come from Triton's cache. It works with Triton 3.6 as well.
"""
import argparse
import functools
import importlib.util
import inspect
import json
import math
import pathlib
import sys
import types

import torch
import triton
import triton.language as tl
import triton.testing

DEVICE = "cuda"
SEEDS = 3
DTYPES = ("float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "int64", "int32", "int16", "int8", "uint8",
          "bool")


# ---- the module d2k


def stand_in():
    d2k = types.ModuleType("d2k")
    d2k.empty = lambda shape, dtype: torch.empty(shape, dtype=dtype, device=DEVICE)
    d2k.zeros = lambda shape, dtype: torch.zeros(shape, dtype=dtype, device=DEVICE)
    d2k.cdiv = lambda a, b: -(-a // b)
    d2k.next_power_of_2 = triton.next_power_of_2
    d2k.num_sms = lambda: torch.cuda.get_device_properties(DEVICE).multi_processor_count
    for name in DTYPES:
        setattr(d2k, name, getattr(torch, name))
    return d2k


def accept_approximate_division():
    """Triton 3.6 has no approximate division yet. Sources that ask for it get the ordinary one there."""
    fdiv = tl.math.fdiv
    if "approx" in inspect.signature(fdiv).parameters:
        return

    @tl.core.builtin
    @functools.wraps(fdiv)
    def either(x, y, ieee_rounding=False, approx=False, _semantic=None):
        return fdiv(x, y, ieee_rounding, _semantic=_semantic)

    tl.math.fdiv = either


def load(path, name):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


# ---- inputs and outputs


def short_inputs(dims, params):
    x = torch.randn(dims["M"], dims["N"], device=DEVICE, dtype=torch.bfloat16)
    return {"x": x, "w": 1 + torch.rand(dims["N"], device=DEVICE).bfloat16()}


def shape_of(tensor, dims):
    names = dict(dims, min=min, max=max, cdiv=lambda a, b: -(-a // b))
    return [int(eval(extent.replace("/", "//"), {"__builtins__": {}}, names)) for extent in tensor["shape"]]


def make_outputs(task, dims):
    return [
        torch.empty(shape_of(t, dims), dtype=getattr(torch, t["dtype"]), device=DEVICE) for t in task["tensors"]
        if t["role"] == "out"
    ]


# ---- correctness


def close(got, want, checks):
    """Whether the output is within the task's tolerances, in the words of PyTorch."""
    got, want = got.float(), want.float()
    size = want.square().mean().sqrt().item()
    for check in checks:
        if check["metric"] == "rfe":
            good = ((got - want).norm() / want.norm()).item() <= check["max"]
        elif check["metric"] == "rows":
            good = ((got - want).norm(dim=-1) <= check["max"] * want.norm(dim=-1)).all().item()
        elif check["metric"] == "maxn":
            good = torch.allclose(got, want, rtol=0, atol=check["max"] * size)
        elif check["metric"] == "ulp":  # one step of e4m3
            good = torch.isclose(got, want, rtol=0.126, atol=2**-9).float().mean().item() >= check["share"]
        else:
            good = torch.equal(got, want)
        if not good or not math.isfinite(size):
            return False
    return True


def right(task, run, inputs, params, want, dims):
    outputs = make_outputs(task, dims)
    run(*inputs, *outputs, **params)
    tensors = [t for t in task["tensors"] if t["role"] == "out"]
    return all(close(got, want[t["name"]], t["check"]) for got, t in zip(outputs, tensors))


# ---- a workload


def measure(task, workload, legs, reference, make_inputs):
    dims, params = workload["dims"], workload["params"]
    correct = True
    for seed in range(SEEDS):
        torch.manual_seed(seed)
        made = make_inputs(dims, params)
        inputs = list(made.values())
        want = reference(**made, **params)
        checked = legs if seed == SEEDS - 1 else {"candidate": legs["candidate"]}
        for run in checked.values():
            correct &= right(task, run, inputs, params, want, dims)
    outputs = make_outputs(task, dims)
    ns = {
        name: round(1e6 * triton.testing.do_bench(lambda: run(*inputs, *outputs, **params), return_mode="median"))
        for name, run in legs.items()
    }
    return {
        "task": task["name"], "workload": workload["id"], "correct": correct, "ns": ns,
        "speedup": round(ns["baseline"] / ns["candidate"], 4)
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("task")
    parser.add_argument("submission", type=pathlib.Path)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2])
    args = parser.parse_args()
    folder = args.root / "tasks" / args.task
    sys.modules["d2k"] = stand_in()
    accept_approximate_division()
    # memory for descriptors that are made on the device
    triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device=DEVICE))
    task = json.loads((folder / "task.json").read_text())
    legs = {"candidate": args.submission, "baseline": folder / "baseline.py", "expert": folder / "expert.py"}
    legs = {name: load(path, name).run for name, path in legs.items()}
    reference = load(folder / "reference.py", "reference").reference
    make_inputs = short_inputs if args.task == "short" else load(folder / "library.py", "library").inputs
    good = True
    for line in (args.root / "workloads" / f"{args.task}.jsonl").read_text().splitlines():
        workload = json.loads(line)
        if workload["tier"] == "bench":
            result = measure(task, workload, legs, reference, make_inputs)
            good &= result["correct"]
            print(json.dumps(result), flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
