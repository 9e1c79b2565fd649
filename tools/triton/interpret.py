"""Runs a submission on the CPU, under Triton's interpreter: correctness on any machine, for small shapes.

In: a job as JSON on stdin, {"source", "params", "tensors": [{"name", "dtype", "shape", "role", "offset"}]}, and the
tensors' memory as file descriptor 4, each at its offset. Out: on file descriptor 3 the line "ready", before anything of
the submission's is read, then {"status", "message"} as JSON; the outputs are in the memory. Inputs are made and outputs
judged elsewhere. With arguments, by hand: see job.py.

Every load and store is checked to lie inside a buffer. Fresh scratch is filled with bytes 0xff, NaN in all float types.
"""
import inspect
import json
import math
import mmap
import os
import sys

os.environ["TRITON_INTERPRET"] = "1"
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import d2k
import load
import numpy as np
import numerics
import triton
import triton.language as tl
from triton.experimental import gluon
from triton.runtime import interpreter
from triton.runtime.autotuner import Autotuner
from triton.runtime.interpreter import InterpretedFunction, InterpreterBuilder, TensorHandle

NUM_SMS = 132
OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg", "launch_pdl", "launch_cooperative_grid", "debug",
           "enable_fp_fusion", "sanitize_overflow", "ptx_options", "extern_libs")


class Fault(Exception):
    """A load or store outside every buffer."""


class StaticAssertion(Exception):
    """tl.static_assert failed; an autotuned kernel tries its next configuration."""


class Memory:
    """The buffers of one run, and the host of the d2k module."""

    num_sms = NUM_SMS

    def __init__(self, tensors, memory):
        self.keep = [memory]  # arrays that own the memory
        self.buffers = []
        self.tensors = [self.tensor(t, memory) for t in tensors]
        self.index()

    def tensor(self, t, memory):
        dtype = d2k._dtypes[t["dtype"]]
        nbytes = math.prod(t["shape"]) * dtype.itemsize
        if t["offset"] < 0 or t["offset"] + nbytes > memory.nbytes:
            raise ValueError(f"tensor '{t['name']}' lies outside the memory")
        b = d2k.Buffer(t["name"], nbytes, t["role"], memory.ctypes.data + t["offset"])
        self.buffers.append(b)
        return d2k.Tensor(b, dtype, t["shape"])

    def scratch(self, nbytes, zero):
        owner = np.full(nbytes + 512, 0x00 if zero else 0xff, np.uint8)
        start = -owner.ctypes.data % 256
        self.keep.append(owner)
        self.buffers.append(d2k.Buffer(f"scratch{len(self.keep) - 2}", nbytes, "scratch", owner.ctypes.data + start))
        self.index()
        return self.buffers[-1]

    def index(self):
        self.order = sorted(self.buffers, key=lambda b: b.address)
        self.starts = np.array([b.address for b in self.order], np.uint64)
        self.ends = np.array([b.address + b.nbytes for b in self.order], np.uint64)

    def check(self, ptrs, mask, size, what):
        """Every address that the mask selects must lie, whole, in a buffer."""
        chosen = ptrs[np.broadcast_to(mask, ptrs.shape)] if not np.all(mask) else ptrs
        if not chosen.size:
            return
        low, high = chosen.min(), chosen.max()
        i = int(np.searchsorted(self.starts, low, "right")) - 1
        if i >= 0 and high + size <= self.ends[i]:
            return
        at = np.searchsorted(self.starts, chosen, "right").astype(np.int64) - 1
        outside = (at < 0) | (chosen + size > self.ends[np.maximum(at, 0)])
        if outside.any():
            bad = chosen[outside]
            raise Fault(
                f"{what} outside every tensor: {bad.size} of {chosen.size} elements, {self.place(int(bad.flat[0]))}")

    def place(self, address):

        def distance(b):
            return max(b.address - address, address - b.address - b.nbytes + 1, 0)

        b = min(self.buffers, key=distance)
        return f"the first at byte {address - b.address} of '{b.name}', which has {b.nbytes}"


memory = None


def masked_load(self, ptrs, mask, other, cache_policy, is_volatile):
    type_ = ptrs.get_element_ty()
    dtype = numerics.np_dtype(type_)
    memory.check(ptrs.data, mask.data, dtype.itemsize, "load")
    other = np.zeros(ptrs.data.shape, dtype) if other is None else other.data
    got = interpreter._interpreter.load(ptrs.data, mask.data, numerics.raw(other),
                                        numerics.raw(np.empty(0, dtype)).dtype)
    return TensorHandle(got.view(dtype), type_)


def masked_store(self, ptrs, value, mask, cache_policy):
    memory.check(ptrs.data, mask.data, value.data.dtype.itemsize, "store")
    return interpreter._interpreter.store(ptrs.data, numerics.raw(value.data), mask.data)


def checked(create):
    """An atomic operation that looks where it points first."""

    def create_checked(self, *args):
        ptr, value = next((a, b) for a, b in zip(args, args[1:]) if isinstance(a, TensorHandle))
        mask = args[3].data if create.__name__ == "create_atomic_rmw" else np.ones(1, bool)
        memory.check(ptr.data, mask, value.data.dtype.itemsize, "atomic")
        return create(self, *args)

    return create_checked


def static_assert(condition, message=""):
    if not condition:
        raise StaticAssertion(message or "static assertion failed")


def counting(*bounds, **hints):
    """range() and tl.range() of a kernel: where a bound is a tensor, so is what counts."""
    if not any(isinstance(b, tl.tensor) for b in bounds):
        return range(*(b.__index__() for b in bounds))
    type_ = tl.int64 if any(isinstance(b, tl.tensor) and b.dtype.primitive_bitwidth == 64 for b in bounds) else tl.int32
    return (tl.tensor(TensorHandle(np.array([i], numerics.np_dtype(type_)), type_), type_)
            for i in range(*(b.__index__() for b in bounds)))


shipped_cvt = interpreter._implicit_cvt


def implicit_cvt(arg):
    """A kernel argument as its program sees it: floats are float32 scalars, not Python's."""
    if isinstance(arg, float):
        return tl.tensor(TensorHandle(np.array([arg], np.float32), tl.float32), tl.float32)
    return shipped_cvt(arg)


def launch(self, *args, grid, warmup, **kwargs):
    """Takes the place of InterpretedFunction.run."""
    if memory is None:
        raise RuntimeError("kernels can only be launched inside run()")
    if warmup:
        return
    unknown = [k for k in kwargs if k not in self.arg_names and k not in OPTIONS]
    if unknown:
        raise KeyError(f"Keyword argument {unknown[0]} was specified but unrecognised")
    if kwargs.get("launch_cooperative_grid"):
        raise numerics.Unsupported(
            f"{self.__name__}: the programs of a cooperative launch run at the same time, which they do on a GPU only")
    fn = self.rewrite()
    bound = inspect.signature(self.fn).bind(*args, **{k: v for k, v in kwargs.items() if k in self.arg_names})
    bound.apply_defaults()
    grid = grid(bound.arguments) if callable(grid) else grid
    nx, ny, nz = load.check_grid(grid)
    constexprs = {
        p.name
        for i, p in enumerate(inspect.signature(self.fn).parameters.values())
        if triton.runtime.jit.KernelParam(i, p, False, False).is_constexpr
    }
    values = {k: v if k in constexprs else interpreter._implicit_cvt(v) for k, v in bound.arguments.items()}
    builder = interpreter.interpreter_builder
    builder.set_grid_dim(nx, ny, nz)
    names = self.fn.__globals__["__builtins__"]
    names["range"] = counting
    try:
        for z in range(nz):
            for y in range(ny):
                for x in range(nx):
                    builder.set_grid_idx(x, y, z)
                    fn(**values)
    finally:
        names["range"] = range


def tune(tuner, *args, **kwargs):
    """Takes the place of Autotuner.run: the first configuration that compiles."""
    load.check_tuner(tuner, kwargs)
    tuner.nargs = dict(zip(tuner.arg_names, args))
    configs = tuner.prune_configs(kwargs) if len(tuner.configs) > 1 else tuner.configs
    for config in configs:
        try:
            return tuner.fn.run(*args, **kwargs, **config.all_kwargs())
        except StaticAssertion:
            if config is configs[-1]:
                raise


def unwrapped(operate):
    """A binary operator of tl.constexpr that gives a tensor, not a constant, where the other side is a tensor."""

    def operate_unwrapped(self, other):
        result = operate(self, other)
        return result.value if isinstance(result.value, tl.tensor) else result

    return operate_unwrapped


def mix_constants_with_tensors():
    """In a compiled kernel a constant of the module meets tensors as a number would."""
    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift"):
        for form in (f"__{name}__", f"__r{name}__"):
            if form in vars(tl.constexpr):
                setattr(tl.constexpr, form, unwrapped(vars(tl.constexpr)[form]))
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        setattr(tl.constexpr, f"__{name}__", unwrapped(vars(tl.constexpr)[f"__{name}__"]))


def refuse_gluon(fn=None, **options):
    raise numerics.Unsupported("Gluon kernels run on a GPU only")


def install():
    """Once a process."""
    numerics.install()
    load.status_of = status_of
    InterpreterBuilder.create_masked_load, InterpreterBuilder.create_masked_store = masked_load, masked_store
    InterpreterBuilder.create_atomic_rmw = checked(InterpreterBuilder.create_atomic_rmw)
    InterpreterBuilder.create_atomic_cas = checked(InterpreterBuilder.create_atomic_cas)
    tl.range = tl.core.range = counting
    mix_constants_with_tensors()
    tl.static_assert = tl.core.static_assert = static_assert
    interpreter._implicit_cvt = implicit_cvt
    InterpretedFunction.run = launch
    Autotuner.run = tune
    gluon.jit = refuse_gluon


def cause(error):
    """What a kernel raised, under the interpreter's wrappings."""
    while isinstance(error, interpreter.InterpreterError) and error.__cause__:
        error = error.__cause__
    return error


def interpret(job, array):
    """Runs the submission once on the given memory."""
    global memory
    try:
        run = load.load(job["source"])
        memory = d2k._host = Memory(job["tensors"], array)
        load.call(run, [t["name"] for t in job["tensors"]], memory.tensors, job["params"])
    except load.Refusal as e:
        return dict(status=e.status, message=str(e))
    finally:
        memory = d2k._host = None
    return dict(status="ok", message="")


STATUSES = ((d2k.HostReadError, "host_reads_tensor"), (numerics.Unsupported, "unsupported"),
            (NotImplementedError, "unsupported"), (Fault, "fault"), (StaticAssertion, "compile_error"))


def status_of(error):
    return next((status for kind, status in STATUSES if isinstance(cause(error), kind)), "host_error")


# --- by hand, or for d2k-time ----------------------------------------------------------------------------------------


def by_hand(job):
    """Each workload once, on normal random inputs; prints what the outputs look like."""
    rng, failed = np.random.default_rng(1), False
    for w in job["workloads"]:
        offset = 0
        for t in w["tensors"]:
            t["offset"], offset = offset, offset + (math.prod(t["shape"]) * d2k._dtypes[t["dtype"]].itemsize +
                                                    511) // 256 * 256
        array = np.full(offset, 0xff, np.uint8)
        views = {t["name"]: view(array, t) for t in w["tensors"]}
        for t in w["tensors"]:
            if t["role"] != "out":
                views[t["name"]][...] = rng.standard_normal(
                    t["shape"]) if d2k._dtypes[t["dtype"]].is_floating_point else 0
        result = interpret(dict(source=job["source"], params=w["params"], tensors=w["tensors"]), array)
        failed |= result["status"] != "ok"
        print(f"{w['id']}: {result['status']}\n{result['message']}".rstrip())
        for t in w["tensors"]:
            if t["role"] != "in":
                x = views[t["name"]].astype(np.float64)
                print(
                    f"  {t['name']} {list(x.shape)}: mean {np.mean(x):.6g} rms {np.sqrt(np.mean(x * x)):.6g} "
                    f"min {np.min(x):.6g} "
                    f"max {np.max(x):.6g}, {np.sum(~np.isfinite(x))} not finite")
    return failed


def view(array, t):
    dtype = d2k._dtypes[t["dtype"]]
    small = {str(v): v for v in numerics.SMALL.values()}.get(dtype.name, dtype.name)
    return array[t["offset"]:t["offset"] + math.prod(t["shape"]) * dtype.itemsize].view(small).reshape(t["shape"])


def main():
    install()
    if len(sys.argv) > 1:
        import job
        return by_hand(job.by_hand("smoke", "Run a submission on the CPU, on random inputs."))
    os.write(3, b"ready\n")  # what fails from here on may be the submission's doing
    work = json.load(sys.stdin)
    array = np.frombuffer(mmap.mmap(4, 0), np.uint8)
    text = json.dumps(interpret(work, array))
    with open(3, "w") as out:
        out.write(text)
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main())
