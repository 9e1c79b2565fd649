"""Holds oracles against reference.py: loads dumps of `d2k-time --dump-oracle`, runs tasks/NAME/reference.py in PyTorch on the
same inputs, and compares. Prints one JSON line per dump; exit status 1 when one does not agree.

reference.py defines `reference(<input tensors by name>, *, <params>)`, which returns {output name: tensor} (or the outputs
in the order of task.json). An output may be rounded to its type or still be exact; both are rounded before codes are compared.

    tests/check-reference.py [--device cuda] DUMP...
"""
import argparse
import importlib.util
import json
import pathlib
import sys

import torch

ROOT = pathlib.Path(__file__).resolve().parent.parent
CODES = {torch.bfloat16: torch.int16, torch.float16: torch.int16, torch.float8_e4m3fn: torch.int8, torch.float8_e5m2: torch.int8,
         torch.float32: torch.int32}


def dtype_of(tensor: dict) -> torch.dtype:
    return getattr(torch, tensor["dtype"])


def read(path: pathlib.Path, dtype: torch.dtype, shape: list[int], device: str) -> torch.Tensor:
    data = bytearray(path.read_bytes())
    flat = torch.frombuffer(data, dtype=torch.uint8).view(dtype) if data else torch.empty(0, dtype=dtype)
    return flat.reshape(shape).to(device)


def steps(x: torch.Tensor) -> torch.Tensor:
    """Codes of a float type as integers in the order of their values; +0 and -0 are one."""
    code = x.view(CODES[x.dtype]).long()
    low = (1 << (8 * x.element_size() - 1)) - 1
    return torch.where(code < 0, -(code & low), code)


def rounded(x: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """To the output's type, saturating where fp8 does; doubles go by way of float, which moves ties only."""
    if dtype in (torch.float8_e4m3fn, torch.float8_e5m2) and x.dtype != dtype:
        limit = torch.finfo(dtype).max
        x = x.float().clamp(-limit, limit)
    return x.to(dtype)


def compare(tensor: dict, got: torch.Tensor, ref: torch.Tensor) -> dict:
    """The task's metrics of the reference's output against the oracle's doubles."""
    dtype = dtype_of(tensor)
    if tuple(got.shape) != tuple(ref.shape):
        return {"name": tensor["name"], "ok": False, "why": f"shape {tuple(got.shape)}, not {tuple(ref.shape)}"}
    exact = got.double()
    out = {"name": tensor["name"], "ok": bool(torch.equal(exact.isfinite(), ref.isfinite()))}
    exact, finite = exact.nan_to_num(0, 0, 0), ref.nan_to_num(0, 0, 0)
    error, size = exact - finite, finite.norm()
    out["rfe"] = (error.norm() / size).item() if size > 0 else float(error.norm() > 0)
    out["maxn"] = (error.abs().max() / finite.square().mean().sqrt()).item() if size > 0 else float(error.norm() > 0)
    rows, sizes = (x.reshape(-1, x.shape[-1]).norm(dim=-1) for x in (error, finite))
    out["rows"] = torch.where(rows > 0, rows / sizes, 0).max().item()
    for check in tensor["check"]:
        if check["metric"] in ("rfe", "rows", "maxn"):
            out["ok"] &= out[check["metric"]] <= check["max"]
        elif check["metric"] == "exact":
            out["different"] = int((exact != finite).sum())
            out["ok"] &= out["different"] == 0
        else:
            distance = (steps(rounded(got, dtype)) - steps(rounded(ref, dtype))).abs()
            out["within_one_step"] = (distance <= 1).double().mean().item()
            out["equal"], out["steps"] = (distance == 0).double().mean().item(), int(distance.max())
            out["ok"] &= out["within_one_step"] >= check["share"] and out["steps"] <= check.get("max", out["steps"])
            out["ok"] &= out["equal"] >= check.get("equal", 0)
    return out


def load_reference(task: str):
    spec = importlib.util.spec_from_file_location("reference", ROOT / "tasks" / task / "reference.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.reference


def check(dump: pathlib.Path, device: str) -> dict:
    index = json.loads((dump / "index.json").read_text())
    outputs = [t for t in index["tensors"] if t["role"] != "in"]
    inputs = {t["name"]: read(dump / f"{t['name']}.raw", dtype_of(t), t["shape"], device)
              for t in index["tensors"] if t["role"] != "out"}
    result = load_reference(index["task"])(**inputs, **index["params"])
    if not isinstance(result, dict):
        result = dict(zip([t["name"] for t in outputs], result if isinstance(result, tuple) else (result,), strict=True))
    line = {"task": index["task"], "workload": index["workload"], "seed": index["seed"], "torch": torch.__version__, "ok": False}
    if set(result) != {t["name"] for t in outputs}:
        return line | {"why": f"reference returned {sorted(result)}"}
    line["outputs"] = [compare(t, result[t["name"]], read(dump / f"ref_{t['name']}.raw", torch.float64, t["shape"], device))
                       for t in outputs]
    return line | {"ok": all(o["ok"] for o in line["outputs"])}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("dump", nargs="+", type=pathlib.Path)
    args = parser.parse_args()
    good = True
    for dump in args.dump:
        line = check(dump, args.device)
        print(json.dumps(line), flush=True)
        good &= line["ok"]
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
