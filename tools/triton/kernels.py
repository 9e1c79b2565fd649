"""Compiles kernels without a GPU, in threads, and puts what the compilers say into words with the submission's lines.

Triton is made to believe in a device by a driver that knows its target and nothing else. A kernel is handed out before
it is compiled; launching it calls back, and its result() waits for the compiler. Triton's own cache serves one process
only, and nothing is taken from it.
"""
import concurrent.futures
import os
import re
import subprocess
import time
import types

import gate
import load

os.environ["TRITON_DEFAULT_FP_FUSION"] = "1"  # Triton's own default; it warns when this is unset
for _name in list(os.environ):  # what is built must not depend on somebody's settings
    if _name.startswith(("TRITON_", "LLVM_", "MLIR_", "PTXAS_")) and _name != "TRITON_DEFAULT_FP_FUSION":
        del os.environ[_name]

import triton
import triton.backends.nvidia.compiler as nvidia_compiler
import triton.runtime.cache
from triton.backends.compiler import GPUTarget
from triton.compiler.errors import CompilationError, CompileTimeAssertionFailure
from triton.runtime import jit
from triton.runtime.errors import PTXASError

TARGETS = {"sm_90": (90, 132), "sm_100": (100, 148)}  # compute capability, SMs
MAX_SHARED = 227 * 1024  # bytes one block may have, on both
MAX_TENSOR_MEMORY = 512  # columns
MAX_THREADS = 1024
MAX_COMPILING = 8  # kernels at a time
LIBDEVICE = os.path.join(os.path.dirname(nvidia_compiler.__file__), "lib", "libdevice.10.bc")
NAMES_A_FILE = re.compile(r"[./]|--?(o|output-file|optf|options-file|ias|input-as-string)\b")  # options of ptxas


class Unusable(Exception):
    """One compiled variant cannot be used; autotuning drops it, anything else fails with it."""

    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


ptxas_logs = {}  # PTX text: what ptxas said about it
ptxas_made = set()  # pairs of PTX text and cubin; options may make several of one text


def run_ptxas(command, **options):
    """subprocess.run for Triton's call of ptxas, keeping what it reports and makes before Triton deletes it."""
    with open(command[-3]) as file:
        ptx = file.read()
    try:
        result = subprocess.run(command, **options)
        with open(command[-1], "rb") as cubin:
            ptxas_made.add((ptx, cubin.read()))
        return result
    finally:
        with open(options["stderr"].name) as log:
            ptxas_logs[ptx] = log.read()


def resources(name, ptx):
    """Registers, spilled bytes and stack bytes of a kernel, as ptxas reports them; None where it does not."""
    log = ptxas_logs.get(ptx, "")
    log = log[max(log.find(f"Function properties for {name}\n"), 0):]
    found = [
        re.search(p, log) for p in (r"Used (\d+) registers", r"(\d+) bytes spill stores", r"(\d+) bytes stack frame")
    ]
    return [int(m[1]) if m else None for m in found]


def ptxas_notes(ptx):
    """Warnings worth an author's attention, such as wgmma instructions being serialised."""
    found = re.findall(r"^\S+ (warning|info)\s*: (.*)$", ptxas_logs.get(ptx, ""), re.M)
    return list(dict.fromkeys(text for kind, text in found if kind == "warning" or "Potential Performance" in text))


def source_of(ptx, number):
    """The submission's line that line `number` of the PTX was made from, and that line of PTX."""
    lines = ptx.splitlines()[:number]
    own = {m[1] for m in re.finditer(rf'\.file\s+(\d+) "(?:[^"]*/)?{re.escape(load.FILE)}"', ptx)}
    for text in reversed(lines):
        m = re.match(r"\s*\.loc\s+(\d+) (\d+)", text)
        if m and m[1] in own:
            return int(m[2]), lines[-1].strip()
    return None, lines[-1].strip() if lines else ""


def explain_ptxas(error):
    """What ptxas said, with the submission's lines in place of those of a file that is gone."""
    m = re.search(r"`ptxas` stderr:\n(.*?)\n(?:Repro command|\Z)", str(error), re.S)
    said = m[1] if m else str(error)
    ptx = next((p for p, log in ptxas_logs.items() if log.strip() and log.strip() in str(error)), "")

    def place(m):
        line, instruction = source_of(ptx, int(m[1]))
        return (f"{load.FILE}:{line}: " if line else "") + (f"in '{instruction}': " if instruction else "")

    said = re.sub(r"\S*\.ptx, line (\d+); (?:error|fatal)\s*: ", place, said)
    said = re.sub(r"^.*Ptx assembly aborted.*\n?", "", said, flags=re.M)
    return re.sub(r"^ptxas\S* (?:(?:fatal|error|info)\s*: )?", "", said, flags=re.M).strip()


def locate(src, lineno):
    """The submission's line for line `lineno` of a jitted function's text, and that function's name."""
    for fn in jit._triton_jit_function_registry.values():
        if fn._src == src:
            own = fn.file_name == load.FILE
            return (fn.def_file_line_number + lineno - 1 if own else None), fn.__name__
    return None, None


def describe_compile_error(error):
    """A compilation error as its chain of places, outermost first, ending in what was wrong."""
    places, reason, whole = [], "", str(error)
    while error is not None:
        if isinstance(error, CompilationError):
            lineno = getattr(error.node, "lineno", None)
            line, name = locate(error.src, lineno) if lineno else (None, None)
            if line:
                places.append(f"{load.FILE}:{line}: in {name}: {load.source_line(line)}")
            reason = error.error_message or reason
        else:
            reason = f"{type(error).__name__}: {error}"
        error = error.__cause__
    return "\n".join(list(dict.fromkeys(places)) + [str(reason).strip() or whole.strip() or "compilation failed"])


def guarded(make_ptx):
    """Triton's making of PTX, with the gate behind it."""

    def make(self, src, metadata, options, capability):
        ptx = gate.tidy(make_ptx(self, src, metadata, options, capability))
        gate.check(ptx, (metadata["global_scratch_size"], metadata["profile_scratch_size"]))
        return ptx

    return make


class Kernel:
    """A kernel being compiled. Triton sees just enough of its CompiledKernel to launch it."""

    function = packed_metadata = None

    def __init__(self, source, future, on_launch):
        self.source, self.future, self.on_launch = source, future, on_launch
        self.line = source.fn.def_file_line_number if source.fn.file_name == load.FILE else None

    def launch_metadata(self, grid, stream, *args):
        return None

    def run(self, x, y, z, stream, function, packed_metadata, launch_metadata, enter_hook, exit_hook, *args):
        self.on_launch(self, (x, y, z), args)

    def result(self):
        """Triton's compiled kernel, or Unusable."""
        name = self.source.name
        try:
            compiled = self.future.result()
        except PTXASError as e:
            text = explain_ptxas(e)
            lacking = re.search(r"Register allocation failed|Insufficient registers|too many|too much", text)
            raise Unusable("out_of_resources" if lacking else "compile_error",
                           f"kernel {name}: ptxas failed:\n{text}") from e
        except gate.Refused as e:
            line, _ = source_of(e.ptx, e.line)
            raise load.Refusal("compile_error", (f"{load.FILE}:{line}: " if line else "") +
                               f"kernel {name} {e}") from e
        except CompileTimeAssertionFailure as e:
            raise Unusable("compile_error", describe_compile_error(e)) from e
        except CompilationError as e:
            raise load.Refusal("compile_error", describe_compile_error(e)) from e
        except Exception as e:
            where = f"{load.FILE}:{self.line}: " if self.line else ""
            raise load.Refusal("compile_error", f"{where}in {name}: {type(e).__name__}: {e}") from e
        if (compiled.asm["ptx"], compiled.asm["cubin"]) not in ptxas_made:  # Triton reads both from files
            raise load.Refusal("host_error", f"kernel {name} is not what ptxas made of its source; "
                               "leave Triton's cache alone")
        self.check_limits(name, compiled.metadata)
        return compiled

    def check_limits(self, name, m):
        limits = (("bytes of shared memory", m.shared, MAX_SHARED), ("threads", m.num_warps * m.warp_size, MAX_THREADS),
                  ("columns of tensor memory", getattr(m, "tmem_size", None) or 0, MAX_TENSOR_MEMORY))
        for what, used, limit in limits:
            if used > limit:
                where = f"{load.FILE}:{self.line}: " if self.line else ""
                raise Unusable("out_of_resources", f"{where}kernel {name} needs {used} {what}; the limit is {limit}")

    def __getattr__(self, name):
        return getattr(self.future.result(), name)


class Compiler:
    """Takes the place of JITFunction._do_compile: same kernels, but made in threads."""

    def __init__(self, on_launch):
        self.on_launch = on_launch
        self.pool = concurrent.futures.ThreadPoolExecutor(min(len(os.sched_getaffinity(0)), MAX_COMPILING))
        self.seconds = []  # each kernel's

    def start(self, fn, key, signature, device, constexprs, options, attrs, warmup):
        kernels, _, target, _, _ = fn.device_caches[device]
        self.check_options(options)
        source = fn.ASTSource(fn, signature, constexprs, attrs)
        kernels[key] = Kernel(source, self.pool.submit(self.compile, fn, source, target, options), self.on_launch)
        return kernels[key]

    def check_options(self, options):
        """What would bring in code that is not in the submission's source."""
        if getattr(options, "ir_override", None):
            raise load.Refusal("host_error", "ir_override is not supported: kernels come from the submission's source")
        files = [o for o in str(options.ptx_options or "").split() if NAMES_A_FILE.search(o)]
        if files:
            raise load.Refusal("host_error", f"ptx_options cannot name a file: '{files[0]}'")
        if any(name != "libdevice" or path != LIBDEVICE for name, path in options.extern_libs or ()):
            raise load.Refusal("host_error", "extern_libs is not supported: libdevice is there without")

    def compile(self, fn, source, target, options):
        start = time.perf_counter()
        try:
            return fn.compile(source, target=target, options=options.__dict__)
        finally:
            self.seconds.append(time.perf_counter() - start)


class Driver:
    """What Triton asks of an active driver before a launch. Nothing is ever loaded or launched."""

    def __init__(self, capability, num_sms):
        self.target = GPUTarget("cuda", capability, 32)
        self.utils = types.SimpleNamespace(get_device_properties=lambda device: {
            "max_shared_mem": MAX_SHARED,
            "multiprocessor_count": num_sms,
            "warpSize": 32
        })

    def get_current_target(self):
        return self.target

    def get_current_device(self):
        return 0

    def get_current_stream(self, device):
        return 0

    def get_device_capability(self, device=0):
        return divmod(self.target.arch, 10)


def refuse_new_source(fn, source):
    raise load.Refusal("host_error", "the source of a kernel is the submission's file; it cannot be replaced")


def install(target, on_launch):
    """Puts our parts into Triton and returns the compiler. on_launch is called with kernel, grid and arguments."""
    capability, num_sms = TARGETS[target]
    compiler = Compiler(on_launch)
    triton.runtime.driver.set_active(Driver(capability, num_sms))
    jit.JITFunction._do_compile = lambda fn, *args: compiler.start(fn, *args)
    jit.JITFunction._unsafe_update_src = refuse_new_source
    triton.knobs.runtime.launch_enter_hook = triton.knobs.runtime.launch_exit_hook = None
    triton.knobs.compilation.always_compile = True  # what lies in the cache may be the submission's
    # The cache lives as long as this process, so its key need not tell one Triton from another by hashing 300 MB.
    triton.runtime.cache.triton_key = lambda: triton.__version__
    nvidia_compiler.subprocess = types.SimpleNamespace(run=run_ptxas,
                                                       check_output=subprocess.check_output,
                                                       CalledProcessError=subprocess.CalledProcessError)
    nvidia_compiler.CUDABackend.make_ptx = guarded(nvidia_compiler.CUDABackend.make_ptx)
    nvidia_compiler.print = lambda *args: None  # on an error of ptxas it would print the whole PTX
    return compiler
