"""Records what a submission launches, without a GPU.

run() is called with tensors that have no values, under a Triton driver that writes launches down instead of performing
them. Kernels compile meanwhile (kernels.py). Each workload is recorded twice, with its tensors at other addresses; the
two must agree. What comes out are kernels (cubin, PTX, resources) and one plan of steps per workload.

In: a job as JSON on stdin, {"source", "target", "workloads": [{"id", "params", "tensors": [{"name", "dtype", "shape",
"role"}]}]}. Out: on file descriptor 3 the line "ready", before anything of the submission's is read, then the result as
JSON. With arguments, by hand: see job.py.

In a plan, a scalar is {TYPE: value}, where integers above 2^53 and non-finite floats are strings; extents, strides and
box of a tensor map are listed innermost first, as cuTensorMapEncodeTiled takes them (one stride fewer than extents).
"""
import base64
import contextlib
import hashlib
import json
import math
import os
import re
import sys
import tempfile
import traceback
import types

import d2k
import kernels
import load
import triton
from triton.backends.driver import expand_signature
from triton.backends.nvidia.driver import TMA_DTYPE_DEVICE_TO_HOST, TMA_TF32
from triton.runtime import jit
from triton.runtime.autotuner import Autotuner

MAX_STEPS = 4096
MAX_SCRATCH = 16 << 30  # bytes of one plan
L2_PROMOTION_128B = 2  # what Triton's launcher asks for
PARAMS = {"u1": "i1", "fp16": "f16", "fp32": "f32", "fp64": "f64", "nvTmaDesc": "tensormap"}

# --- recording -------------------------------------------------------------------------------------------------------


class Launch:
    """One launch as it was asked for; its kernel may still be compiling."""

    def __init__(self, kernel, grid, args, line, config):
        self.kernel, self.grid, self.args, self.line, self.config = kernel, grid, args, line, config


def capture(type_, arg):
    """An argument in a form that later changes of host objects cannot reach."""
    if type_ == "constexpr":
        return None
    if isinstance(type_, tuple):
        return [capture(t, a) for t, a in zip(type_, arg)]
    if type_.startswith("tensordesc"):
        if "im2col" in type_:
            raise TypeError("im2col descriptors are not supported")
        return types.SimpleNamespace(base=capture("*", arg.base),
                                     shape=list(arg.shape),
                                     strides=list(arg.strides),
                                     nan=arg.padding == "nan",
                                     tf32=arg.round_f32_to_tf32)
    if type_.startswith("*"):
        while isinstance(arg, jit.TensorWrapper):
            arg = arg.base
        if not isinstance(arg, d2k.Tensor):
            raise TypeError(f"a pointer argument must be a tensor, not {type(arg).__name__}")
        return {"ptr": arg._buffer.name, "offset": arg._offset}
    return arg


def scalar(type_, value):
    """{TYPE: value} for the plan."""
    name = PARAMS.get(type_, type_)
    if name in ("f16", "bf16", "f32", "f64"):
        value = float(value)
        return {name: value if math.isfinite(value) else str(value)}
    if re.fullmatch(r"[iu]\d+", name):
        value = int(value)
        return {name: value if abs(value) <= 2**53 else str(value)}
    raise load.Refusal("host_error", f"kernel arguments of type {type_} are not supported")


def tensor_map(desc, meta):
    """The arguments of cuTensorMapEncodeTiled for a host-side descriptor."""
    extents = [n * (2 if meta["fp4_padded"] and i == len(desc.shape) - 1 else 1) for i, n in enumerate(desc.shape)]
    dtype = TMA_TF32 if desc.tf32 else TMA_DTYPE_DEVICE_TO_HOST[meta["elem_type"]]
    return {
        "tensormap":
        dict(desc.base,
             dtype=dtype,
             dims=extents[::-1],
             strides_bytes=[n * meta["elem_size"] for n in desc.strides[-2::-1]],
             box=list(meta["block_size"])[::-1],
             element_strides=[1] * len(extents),
             swizzle=meta["swizzle"],
             interleave=0,
             l2promo=L2_PROMOTION_128B,
             oob=1 if desc.nan else 0)
    }


def arguments(signature, args, metas):
    """A launch's arguments in the order of the kernel's parameters."""
    out = []
    for type_, arg in zip(signature, args):
        if type_ == "constexpr":
            continue
        elif isinstance(type_, tuple):
            out += arguments(type_, arg, metas)
        elif type_.startswith("*"):
            out.append(arg)
        elif type_.startswith("tensordesc"):
            if metas:
                out.append(tensor_map(arg, metas.pop(0)))
            else:
                out += [
                    arg.base, *(scalar("i64", n) for n in arg.shape + arg.strides),
                    scalar("i1", arg.nan),
                    scalar("i1", arg.tf32)
                ]
            out += [scalar("i32", n) for n in arg.shape] + [scalar("i64", n) for n in arg.strides]
        else:
            out.append(scalar(type_, arg))
    return out


def parameters(signature, metas):
    """The types of the kernel's parameters; both scratch pointers, which every kernel takes last, are left out."""

    def flat(types_):
        for t in types_:
            yield from flat(t) if isinstance(t, tuple) else (t, )

    return [
        "ptr" if t.startswith("*") else PARAMS.get(t, t) for t in flat(expand_signature(signature, metas, "nvTmaDesc"))
        if t != "constexpr"
    ]


class Recording:
    """One call of run(): its buffers, and its steps in order. Also the host of the d2k module meanwhile."""

    def __init__(self, workload, repeat, num_sms):
        self.workload, self.num_sms = workload, num_sms
        # aligned to exactly 256 bytes, what a buffer on the device may count on; other distances in each repeat
        self.gap = (2 << 20) + repeat * (1 << 20)
        self.next = (0x7f0000000000, 0x7a5500000000)[repeat] + 256 * (1 + 2 * repeat)
        self.buffers, self.steps, self.variants = [], [], None
        self.scratches = self.scratch_bytes = 0
        self.tensors = [self.tensor(t) for t in workload["tensors"]]

    def buffer(self, name, nbytes, role):
        b = d2k.Buffer(name, nbytes, role, self.next)
        self.next += nbytes + self.gap - nbytes % 256
        self.buffers.append(b)
        return b

    def tensor(self, t):
        dtype = d2k._dtypes[t["dtype"]]
        return d2k.Tensor(self.buffer(t["name"], math.prod(t["shape"]) * dtype.itemsize, t["role"]), dtype, t["shape"])

    def scratch(self, nbytes, zero):
        taken = {b.name for b in self.buffers}
        while f"scratch{self.scratches}" in taken:
            self.scratches += 1
        self.scratch_bytes += nbytes
        if self.scratch_bytes > MAX_SCRATCH:
            raise load.Refusal("out_of_resources", f"run() asks for {self.scratch_bytes} bytes of scratch in all; "
                               f"the limit is {MAX_SCRATCH}")
        b = self.buffer(f"scratch{self.scratches}", nbytes, "scratch")
        if zero:
            self.add({"op": "fill", "buffer": b.name, "offset": 0, "bytes": nbytes, "value": 0})
        return b

    def add(self, step):
        if len(self.steps) >= MAX_STEPS:
            raise load.Refusal("host_error", f"run() takes more than {MAX_STEPS} launches and fills")
        self.steps.append(step)

    def launch(self, kernel, grid, args):
        grid = load.check_grid(grid)
        args = [capture(t, a) for t, a in zip(kernel.source.signature.values(), args)]
        made = Launch(kernel, grid, args, load.caller_line(), None)
        if self.variants is not None:
            self.variants.append(made)
        elif math.prod(grid):  # Triton, too, skips a launch of no blocks
            self.add([made])

    def tune(self, configs, launch):
        """One launch for each configuration of an autotuned kernel; they become one step."""
        variants = []
        for config in configs:
            self.variants = []
            try:
                launch(config)
                for made in self.variants:
                    made.config = str(config)
                variants += self.variants
            finally:
                self.variants = None
        variants = [v for v in variants if math.prod(v.grid)]
        if variants:
            self.add(variants)


_recording = None


def recorder():
    if _recording is None:
        raise RuntimeError("kernels can only be launched inside run()")
    return _recording


@contextlib.contextmanager
def recording(r):
    global _recording
    _recording = d2k._host = r
    try:
        yield r
    finally:
        _recording = d2k._host = None


def tune(tuner, *args, **kwargs):
    """Takes the place of Autotuner.run: nothing is timed here, every configuration is recorded."""
    load.check_tuner(tuner, kwargs)
    tuner.nargs = dict(zip(tuner.arg_names, args))
    configs = tuner.prune_configs(kwargs) if len(tuner.configs) > 1 else tuner.configs
    recorder().tune(configs, lambda config: tuner.fn.run(*args, **kwargs, **config.all_kwargs()))


# --- the bundle's parts ----------------------------------------------------------------------------------------------


class Bundle:
    """Kernels, each once, and plans that refer to them by index."""

    def __init__(self):
        self.kernels, self.index, self.plans, self.notes = [], {}, [], []

    def kernel(self, compiled, params):
        m, cubin, ptx = compiled.metadata, compiled.asm["cubin"], compiled.asm["ptx"]
        registers, spills, stack = kernels.resources(m.name, ptx)
        facts = dict(name=m.name,
                     hash=hashlib.sha256(cubin).hexdigest(),
                     shared=m.shared,
                     num_warps=m.num_warps,
                     num_ctas=m.num_ctas,
                     cluster=[m.num_ctas, 1, 1],
                     cooperative=bool(m.launch_cooperative_grid),
                     pdl=bool(m.launch_pdl),
                     registers=registers,
                     spills=spills,
                     stack=stack,
                     global_scratch_size=m.global_scratch_size,
                     global_scratch_align=m.global_scratch_align,
                     profile_scratch_size=m.profile_scratch_size,
                     params=params)
        key = json.dumps(facts)
        if key not in self.index:
            self.index[key] = len(self.kernels)
            self.kernels.append(dict(facts, cubin=base64.b64encode(cubin).decode(), ptx=ptx))
            self.notes += [f"kernel {m.name}: {note}" for note in kernels.ptxas_notes(ptx)]
        return self.index[key]

    def variant(self, launch):
        compiled = launch.kernel.result()
        signature = launch.kernel.source.signature.values()
        metas = list(getattr(compiled.metadata, "tensordesc_meta", None) or [])
        params = parameters(signature, metas)
        return dict(kernel=self.kernel(compiled, params),
                    grid=list(launch.grid),
                    args=arguments(signature, launch.args, metas),
                    config=launch.config)

    def launch(self, variants):
        """The step for one launch; variants that cannot be used are left out, as autotuning does, unless all are."""
        usable, unusable = [], None
        for v in variants:
            try:
                made = self.variant(v)
            except (kernels.Unusable, load.Refusal) as e:
                where = f"launched at {load.FILE}:{v.line}: {load.source_line(v.line)}" if v.line else ""
                config = f"in the configuration {v.config}" if v.config and len(variants) > 1 else ""
                unusable = load.Refusal(e.status, "\n".join(filter(None, (str(e), config, where))))
                if isinstance(e, load.Refusal):
                    raise unusable from e
                continue
            if not any(made | {"config": None} == u | {"config": None} for u in usable):
                usable.append(made)
        if not usable:
            raise unusable
        return {"op": "launch", "variants": usable}

    def plan(self, r):
        return dict(workload=r.workload["id"],
                    buffers=[dict(name=b.name, bytes=b.nbytes, role=b.role) for b in r.buffers],
                    steps=[s if isinstance(s, dict) else self.launch(s) for s in r.steps])


def differ(a, b, compiled):
    """In words, the first thing in which two recordings of a workload differ."""
    if a["buffers"] != b["buffers"]:
        return "the scratch tensors differ"
    for i, (s, t) in enumerate(zip(a["steps"], b["steps"])):
        if s == t:
            continue
        if s["op"] != t["op"] or s["op"] == "fill":
            return f"step {i + 1} differs"
        for v, w in zip(s["variants"], t["variants"]):
            name = compiled[v["kernel"]]["name"]
            if v["kernel"] != w["kernel"]:
                return f"step {i + 1} launches {name} compiled in two ways, or two kernels"
            for what in ("grid", "config"):
                if v[what] != w[what]:
                    return f"the {what} of {name} (step {i + 1}) is {v[what]} once and {w[what]} once"
            for k, (x, y) in enumerate(zip(v["args"], w["args"])):
                if x != y:
                    return f"argument {k + 1} of {name} (step {i + 1}) is {x} once and {y} once"
        return f"step {i + 1} differs"
    return f"one has {len(a['steps'])} steps, the other {len(b['steps'])}"


def record(job):
    compiler = kernels.install(job["target"], lambda *launch: recorder().launch(*launch))
    Autotuner.run = tune
    num_sms = kernels.TARGETS[job["target"]][1]
    run = load.load(job["source"])
    pairs = []
    for workload in job["workloads"]:
        pair = [Recording(workload, repeat, num_sms) for repeat in (0, 1)]
        for r in pair:
            with recording(r):
                load.call(run, [t["name"] for t in workload["tensors"]], r.tensors, workload["params"])
        pairs.append(pair)
    bundle = Bundle()
    for first, second in pairs:
        name = first.workload["id"]
        if not any(isinstance(s, list) for s in first.steps + second.steps):
            raise load.Refusal("no_launch", f"run() launched no kernel for workload '{name}'")
        plan, again = bundle.plan(first), bundle.plan(second)
        if plan != again:
            raise load.Refusal(
                "unstable_plan", f"two calls of run() with the same shapes differ (workload '{name}'): "
                f"{differ(plan, again, bundle.kernels)}\nrun() must depend on shapes, types and parameters only")
        bundle.plans.append(plan)
    return dict(message="\n".join(bundle.notes),
                kernels=bundle.kernels,
                plans=bundle.plans,
                compile_seconds=sum(compiler.seconds))


def attempt(job):
    """The result of a job. A failure of this program, too, may be the submission's doing: it counts as one of its own."""
    result = dict(status="ok", message="", triton=triton.__version__, kernels=[], plans=[], compile_seconds=None)
    try:
        result |= record(job)
    except load.Refusal as e:
        result |= dict(status=e.status, message=str(e))
    except Exception:
        result |= dict(status="crashed", message="the recorder failed on this submission:\n" + traceback.format_exc())
    return result


# --- by hand, or for d2k-build ---------------------------------------------------------------------------------------


def print_result(r):
    print("status:", r["status"])
    if r["message"]:
        print(r["message"])
    for i, k in enumerate(r["kernels"]):
        flags = "".join(f" {f}" for f in ("cooperative", "pdl") if k[f])
        print(f"kernel {i} {k['name']}: {k['registers']} registers, {k['spills']} bytes spilled, {k['stack']} stack, "
              f"{k['shared']} shared, {k['num_warps']} warps, {k['num_ctas']} CTAs{flags}, "
              f"global scratch {k['global_scratch_size']}, {k['hash'][:12]}")
    for p in r["plans"]:
        scratch = sum(b["bytes"] for b in p["buffers"] if b["role"] == "scratch")
        print(f"plan {p['workload']}: {len(p['steps'])} steps, {scratch} bytes of scratch")
        for s in p["steps"][:40]:
            if s["op"] == "fill":
                print(f"  fill {s['buffer']} {s['bytes']} bytes")
            for v in s.get("variants", [])[:6]:
                args = " ".join(f"{a['ptr']}+{a['offset']}" if "ptr" in a else ",".join(f"{v}" for v in a.values())
                                for a in v["args"])
                print(f"  kernel {v['kernel']} {r['kernels'][v['kernel']]['name']} grid {v['grid']} args {args}" +
                      (f" [{v['config']}]" if v["config"] else ""))
            if len(s.get("variants", [])) > 6:
                print(f"  ... and {len(s['variants']) - 6} more configurations")
        if len(p["steps"]) > 40:
            print(f"  ... {len(p['steps']) - 40} more")
    if r["compile_seconds"] is not None:
        print(f"compiled in {r['compile_seconds']:.2f} s")


def main():
    with tempfile.TemporaryDirectory() as cache:
        triton.knobs.cache.dir = cache
        if len(sys.argv) > 1:
            import job
            result = attempt(job.by_hand("bench", "Compile a submission and show its kernels and launches."))
            print_result(result)
            return result["status"] != "ok"
        os.set_inheritable(3, False)
        os.write(3, b"ready\n")  # what fails from here on may be the submission's doing
        text = json.dumps(attempt(json.load(sys.stdin)), allow_nan=False)
        with open(3, "w") as out:
            out.write(text)
    sys.stdout.flush()
    os._exit(0)  # no use in waiting for the teardown of compilers


if __name__ == "__main__":
    sys.exit(main())
