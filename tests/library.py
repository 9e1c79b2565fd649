"""Times what PyTorch offers for the tasks' bench workloads, to be held against their own kernels; needs a GPU.

    python3 tests/library.py [--seconds N] [TASK...]

tasks/NAME/library.py says what is to be timed:

    inputs(dims, params, device="cuda")    a new set of the task's inputs, {name: tensor}; inout tensors among them
    forms(dims, params)                    {name: function of these, by keyword, that returns the outputs in their order}
    exact(dims, params, **inputs)          what is right, where reference.py would take too long; may be left out

One JSON line for each workload and form: {"task", "workload", "library", "torch", "device", "ns", "error", "why"}. `ns` is
the median GPU time of a call, null where there is none; `why` then says why. `error` is the relative Frobenius error of the
first output (as numbers) against reference.py on the same inputs.

Inside the timed window is all GPU work of a call, replayed as a CUDA graph over several sets of inputs that together exceed
L2 four times. Outside are making inputs, compiling, warming up and the host. A form that does not fit a graph is no form.
"""
import argparse
import gc
import importlib.util
import json
import pathlib
import statistics
import sys
import time

import torch

ROOT = pathlib.Path(__file__).resolve().parent.parent
L2_TIMES = 4
SETS = 2, 64  # at least, at most


def load(path: pathlib.Path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def outputs(result) -> tuple:
    """Of a form or a reference, which may return a dict, a tuple or one tensor."""
    if isinstance(result, dict):
        return tuple(result.values())
    return tuple(result) if isinstance(result, (tuple, list)) else (result, )


def relative_error(got: torch.Tensor, want: torch.Tensor) -> float:
    got, want = got.float(), want.float()
    return ((got - want).norm() / want.norm()).item()


def make_sets(module, workload: dict) -> list[dict]:
    sets, size = [], 0
    limit = L2_TIMES * torch.cuda.get_device_properties(0).L2_cache_size
    while len(sets) < SETS[0] or (size <= limit and len(sets) < SETS[1]):
        sets.append(module.inputs(workload["dims"], workload["params"]))
        size += sum(t.numel() * t.element_size() for t in sets[-1].values())
    return sets


def time_form(form, sets: list[dict], seconds: float = 0.3) -> int:
    """Median nanoseconds of a call over replays of a graph with one call for each set."""
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(2):
            form(**sets[0])
    torch.cuda.synchronize()
    graph, kept = torch.cuda.CUDAGraph(), []
    with torch.cuda.graph(graph):
        for inputs in sets:
            kept = form(**inputs)  # what a call made before may be overwritten
    times, end = [], time.monotonic() + seconds
    while len(times) < 10 or time.monotonic() < end:
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        graph.replay()
        stop.record()
        stop.synchronize()
        times.append(start.elapsed_time(stop) * 1e6 / len(sets))
    del kept
    return round(statistics.median(times[3:]))


def right_answer(folder: pathlib.Path, module, workload: dict, inputs: dict) -> torch.Tensor:
    fresh = {name: t.clone() for name, t in inputs.items()}
    if hasattr(module, "exact"):
        return outputs(module.exact(workload["dims"], workload["params"], **fresh))[0]
    reference = load(folder / "reference.py").reference
    return outputs(reference(**fresh, **workload["params"]))[0]


def measure(folder: pathlib.Path, module, workload: dict, deadline: float) -> None:
    task = folder.name
    sets, want = make_sets(module, workload), None
    try:
        want = right_answer(folder, module, workload, sets[0])
    except Exception as e:  # the times are worth having all the same
        print(f"library: {task} {workload['id']}: no reference: {type(e).__name__}: {e}"[:300], file=sys.stderr)
    for name, form in module.forms(workload["dims"], workload["params"]).items():
        line = {"task": task, "workload": workload["id"], "library": name, "torch": torch.__version__,
                "device": torch.cuda.get_device_name(), "ns": None, "error": None, "why": None}
        try:
            if time.monotonic() > deadline:
                raise TimeoutError("no time left")
            if want is not None:
                line["error"] = relative_error(outputs(form(**{k: t.clone() for k, t in sets[0].items()}))[0], want)
            line["ns"] = time_form(form, sets)
        except Exception as e:  # whatever a library raises is a result of that library
            line["why"] = f"{type(e).__name__}: {' '.join(str(e).split())}"[:300]
        print(json.dumps(line), flush=True)
        gc.collect()
        torch.cuda.empty_cache()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=300, help="start nothing new after this time (default 300)")
    parser.add_argument("task", nargs="*", help="default: every one that has a library.py")
    parser.add_argument("--root", type=pathlib.Path, default=ROOT, help="where tasks/ and workloads/ lie")
    args = parser.parse_args()
    deadline = time.monotonic() + args.seconds
    torch.manual_seed(1)
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    for task in args.task or sorted(p.parent.name for p in (args.root / "tasks").glob("*/library.py")):
        folder = args.root / "tasks" / task
        if not (folder / "library.py").exists():
            print(f"library: {task} has no library.py", file=sys.stderr)
            continue
        module = load(folder / "library.py")
        for line in (args.root / "workloads" / f"{task}.jsonl").read_text().splitlines():
            workload = json.loads(line)
            if workload["tier"] != "bench":
                continue
            try:
                with torch.no_grad():
                    measure(folder, module, workload, deadline)
            except Exception as e:  # one workload failing must not cost the others
                print(f"library: {task} {workload['id']}: {type(e).__name__}: {e}"[:300], file=sys.stderr)
            gc.collect()
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
