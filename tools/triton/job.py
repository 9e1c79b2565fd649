"""The same job that the tools send, made from a task's files, for work by hand:

    .venv/bin/python3 tools/triton/record.py --task NAME FILE.py [--tier TIER] [--workload ID] [--target sm_90]
"""
import argparse
import ast
import json
import math
import operator
import os
import pathlib

ROOT = pathlib.Path(os.environ.get("D2K_ROOT") or pathlib.Path(__file__).resolve().parents[2])
_OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Mod: math.fmod
}
_FUNCTIONS = {
    "min": min,
    "max": max,
    "cdiv": lambda a, b: math.ceil(a / b),
    "floor": math.floor,
    "ceil": math.ceil,
    "pow": math.pow
}


def evaluate(text, names):
    """An expression of task.json, in doubles as the tools compute it."""

    def value(node):
        match node:
            case ast.Constant(value=int() | float() as x):
                return float(x)
            case ast.Name(id=name) if name in names:
                return float(names[name])
            case ast.UnaryOp(op=ast.USub(), operand=x):
                return -value(x)
            case ast.BinOp(left=a, op=op, right=b) if type(op) in _OPERATORS:
                return _OPERATORS[type(op)](value(a), value(b))
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _FUNCTIONS:
                return float(_FUNCTIONS[name](*map(value, args)))
        raise ValueError(f"cannot evaluate '{text}'")

    return value(ast.parse(str(text), mode="eval").body)


def extent(text, names):
    x = evaluate(text, names)
    if x != int(x) or x < 0:
        raise ValueError(f"'{text}' is {x}, not a whole number")
    return int(x)


def workloads(task, tier, wanted):
    """The task's workloads with every shape worked out."""
    definition = json.loads((ROOT / "tasks" / task / "task.json").read_text())
    found = []
    for line in (ROOT / "workloads" / f"{task}.jsonl").read_text().splitlines():
        w = json.loads(line)
        if w["id"] not in wanted if wanted else tier not in (w["tier"], "all"):
            continue
        tensors = [
            dict(name=t["name"], dtype=t["dtype"], role=t["role"], shape=[extent(s, w["dims"]) for s in t["shape"]])
            for t in definition["tensors"]
        ]
        found.append(dict(id=w["id"], params=w.get("params", {}), tensors=tensors))
    if not found:
        raise SystemExit(f"task '{task}' has no such workload")
    return found


def arguments(tier, what):
    p = argparse.ArgumentParser(description=what)
    p.add_argument("file", help="the submission")
    p.add_argument("--task", required=True)
    p.add_argument("--tier", default=tier, choices=("bench", "smoke", "all"))
    p.add_argument("--workload", action="append", help="only this one, whatever its tier (repeatable)")
    p.add_argument("--target", default="sm_90", choices=("sm_90", "sm_100"))
    return p.parse_args()


def by_hand(tier, what):
    a = arguments(tier, what)
    source = pathlib.Path(a.file).read_text()
    return dict(source=source, target=a.target, workloads=workloads(a.task, a.tier, a.workload))
