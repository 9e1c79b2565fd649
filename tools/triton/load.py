"""Loading a submission, and turning what goes wrong in it into words with its own line numbers.

A Refusal ends the work with a status of the record and a message. The submission is a module of its own, named
submission, whose source exists in memory only. What it may import is checked twice: in its text, so that a message can
name the line, and when it runs. Neither is a wall; the sandbox around this process is.
"""
import ast
import builtins
import inspect
import io
import linecache
import sys
import types

import d2k

FILE = "submission.py"
ALLOWED = ("triton", "triton.language", "triton.language.extra", "triton.experimental.gluon",
           "triton.tools.tensor_descriptor", "d2k", "math", "functools", "itertools", "typing", "dataclasses",
           "__future__")
_SUBMODULES = ("triton.language.extra.", "triton.experimental.gluon.")
_NO_BUILTINS = ("open", "exec", "eval", "compile", "input", "breakpoint", "exit", "quit", "help")


class Refusal(Exception):
    """The submission cannot be used: status is the record's, str() is for whoever wrote it."""

    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


def _allowed(module):
    return module in ALLOWED or module.startswith(_SUBMODULES)


def _refuse_import(name, line):
    where = f"{FILE}:{line}: " if line else ""
    raise Refusal("forbidden_import", f"{where}import of '{name}' is not allowed\nallowed are: {', '.join(ALLOWED)}")


def check_imports(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if not _allowed(alias.name):
                    _refuse_import(alias.name, node.lineno)
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if node.level:
                _refuse_import("." * node.level + module, node.lineno)
            # "from triton import language" is fine, so is "from triton.tools import tensor_descriptor"
            for alias in node.names:
                if not _allowed(module) and not _allowed(f"{module}.{alias.name}"):
                    _refuse_import(module, node.lineno)


def _guarded_import(name, globals=None, locals=None, fromlist=(), level=0):
    if level or not (_allowed(name) or all(_allowed(f"{name}.{n}") for n in fromlist or ("", ))):
        _refuse_import("." * level + name, _line_of(sys._getframe(1)))
    return builtins.__import__(name, globals, locals, fromlist, level)


def _line_of(frame):
    while frame:
        if frame.f_code.co_filename == FILE:
            return frame.f_lineno
        frame = frame.f_back
    return None


def caller_line():
    """The line of the submission that is being executed, or None."""
    return _line_of(sys._getframe(1))


def parse(source):
    """The syntax tree, after the checks that need no execution."""
    try:
        tree = ast.parse(source, FILE)
    except SyntaxError as e:
        text = (e.text or "").rstrip("\n")
        caret = "\n    " + " " * (max(e.offset or 1, 1) - 1) + "^" if text else ""
        raise Refusal("syntax_error", f"{FILE}:{e.lineno}: {e.msg}\n    {text}{caret}".rstrip()) from None
    except (ValueError, RecursionError, MemoryError) as e:
        raise Refusal("syntax_error", f"{FILE}: {str(e) or type(e).__name__}") from None
    check_imports(tree)
    return tree


def load(source):
    """The module's run function. Names in the module keep the source's own lines."""
    source = source.removeprefix("\ufeff")
    tree = parse(source)
    # lines as Python counts them: splitlines() ends one at a form feed, too
    linecache.cache[FILE] = (len(source), None, io.StringIO(source, newline=None).readlines(), FILE)
    module = types.ModuleType("submission")
    module.__file__ = FILE
    allowed = {k: v for k, v in vars(builtins).items() if k not in _NO_BUILTINS}
    module.__dict__["__builtins__"] = allowed | {"__import__": _guarded_import}
    sys.modules["submission"] = module
    with errors():
        exec(compile(tree, FILE, "exec", dont_inherit=True), module.__dict__)
    run = module.__dict__.get("run")
    if not callable(run):
        raise Refusal("host_error", f"{FILE} defines no function run()")
    return run


def call(run, names, tensors, params):
    """Calls run() for one workload."""
    try:
        inspect.signature(run).bind(*tensors, **params)
    except TypeError as e:
        raise Refusal("host_error",
                      f"run() must take ({', '.join([*names, '*', *params] if params else names)}): {e}") from None
    with errors():
        run(*tensors, **params)


MAX_GRID = (2**31 - 1, 65535, 65535)


def check_grid(grid):
    """The grid of a launch as three whole numbers."""
    grid = tuple(grid) if isinstance(grid, (tuple, list)) else (grid, )
    if not 1 <= len(grid) <= 3:
        raise ValueError(f"a grid has one to three dimensions, not {len(grid)}")
    grid = tuple(n.__index__() for n in grid) + (1, ) * (3 - len(grid))
    if any(n < 0 or n > limit for n, limit in zip(grid, MAX_GRID)):
        raise ValueError(f"grid {grid} is outside what the device takes, {MAX_GRID}")
    return grid


def check_tuner(tuner, kwargs):
    """Refuses what of triton.autotune has no meaning here."""
    hooks = [c.pre_hook for c in tuner.configs] + [tuner.user_defined_pre_hook, tuner.user_defined_post_hook]
    if any(hooks) or tuner.reset_to_zero or tuner.restore_value:
        raise ValueError("autotune with pre_hook, post_hook, reset_to_zero or restore_value is not supported; "
                         "d2k.zeros gives zeroed scratch")
    twice = [k for c in tuner.configs for k in c.kwargs if k in kwargs]
    if twice:
        raise ValueError(f"{twice[0]} is given both in the call and in a configuration")


class errors:
    """Code of the submission runs inside; whatever it raises leaves as a Refusal."""

    def __enter__(self):
        pass

    def __exit__(self, kind, error, traceback):
        if error is None or isinstance(error, Refusal):
            return False
        raise Refusal(status_of(error), describe(error)) from error


def status_of(error):
    if isinstance(error, d2k.HostReadError):
        return "host_reads_tensor"
    if type(error).__name__ == "OutOfResources":
        return "out_of_resources"
    return "host_error"


def source_line(line):
    return linecache.getline(FILE, line).strip() if line else ""


def _places(error):
    tb = error.__traceback__
    while tb:
        code = tb.tb_frame.f_code
        if code.co_filename == FILE:
            yield f"{FILE}:{tb.tb_lineno}: in {code.co_name}: {source_line(tb.tb_lineno)}"
        tb = tb.tb_next


def describe(error):
    """What was raised, and through which lines of the submission."""
    lines = list(_places(error))
    while type(error).__name__ == "InterpreterError" and error.__cause__:  # a wrapping of Triton's interpreter
        error = error.__cause__
        lines += _places(error)
    if len(lines) > 8:
        lines[4:-4] = ["..."]
    text = str(error)
    lines.append(f"{type(error).__name__}: {text}" if text else type(error).__name__)
    return "\n".join(lines)
