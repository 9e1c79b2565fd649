"""Puts the arithmetic of Triton's interpreter right, so that its results round as a GPU's do.

As shipped it keeps bfloat16 and float8 as raw integers and computes on those. Here they are ml_dtypes arrays, casts
round to nearest even, casts to float8 saturate, products of dot accumulate in float32 over operands rounded to what the
tensor core takes (TF32 where a float32 dot allows it). Reductions by a function of the submission's own run on whole
slices.
"""
import ast
import inspect
import math
import textwrap

import ml_dtypes
import numpy as np
import triton.language as tl
import triton.language.extra.cuda as extra_cuda
import triton.language.extra.libdevice as generic_libdevice
from triton.runtime import interpreter
from triton.runtime.interpreter import InterpreterBuilder, ReduceOps, ScanOps, TensorHandle

_ir = interpreter._ir
SMALL = {
    tl.bfloat16: np.dtype(ml_dtypes.bfloat16),
    tl.float8e4nv: np.dtype(ml_dtypes.float8_e4m3fn),
    tl.float8e5: np.dtype(ml_dtypes.float8_e5m2)
}
_FLOAT8_MAX = {tl.float8e4nv: 448.0, tl.float8e5: 57344.0}
_shipped_np_dtype = interpreter._get_np_dtype


class Unsupported(Exception):
    """Device code that only a GPU can run."""


def np_dtype(type_):
    scalar = type_.scalar
    small = None if scalar.is_ptr() else SMALL.get(scalar)
    return small if small is not None else _shipped_np_dtype(type_)


def raw(data):
    """The same memory as integers, for code that knows numpy's own types only."""
    return data.view(f"u{data.dtype.itemsize}") if data.dtype in SMALL.values() else data


def _toward_zero(data, target):
    """Rounds to a smaller type without ever growing in magnitude."""
    near = data.astype(target)
    grown = np.abs(near.astype(np.float64)) > np.abs(data.astype(np.float64))
    bits = near.view(f"u{target.itemsize}")
    return np.where(grown, bits - 1, bits).astype(bits.dtype).view(target)


def convert(data, target, rounding=None):
    """One element type to another, from and to Triton types."""
    dtype = np_dtype(target)
    if data.dtype in SMALL.values() and dtype != data.dtype:
        data = data.astype(np.float32)
    top = _FLOAT8_MAX.get(target.scalar)
    if top is not None:
        data = np.clip(data, -top, top)  # NaN stays NaN
    if rounding == _ir.ROUNDING_MODE.RTZ and dtype.itemsize < data.dtype.itemsize:
        return _toward_zero(data, dtype)
    return data.astype(dtype)


def cast_impl(self, src, dst_type):
    return TensorHandle(convert(src.data, dst_type), dst_type.scalar)


def create_fp_to_fp(self, src, dst_type, rounding_mode):
    return TensorHandle(convert(src.data, dst_type, rounding_mode), dst_type.scalar)


def create_clampf(self, arg, lo, hi, propagate_nans):
    if propagate_nans == _ir.PROPAGATE_NAN.NONE:
        return self.binary_op(self.binary_op(arg, lo, np.fmax), hi, np.fmin)
    return self.binary_op(self.binary_op(arg, lo, np.maximum), hi, np.minimum)


def create_fma(self, x, y, z):
    if z.data.dtype not in SMALL.values():
        return _shipped_fma(self, x, y, z)
    product = x.data.astype(np.float64) * y.data.astype(np.float64)
    return TensorHandle((product + z.data.astype(np.float64)).astype(z.data.dtype), z.dtype.scalar)


def create_dot(self, a, b, d, input_precision, max_num_imprecise_acc):
    if a.dtype.is_int():
        return TensorHandle(np.matmul(a.data.astype(np.int32), b.data.astype(np.int32)) + d.data, d.dtype.scalar)
    wide = np.float64 if a.dtype.scalar == tl.float64 else np.float32
    x, y = a.data.astype(wide), b.data.astype(wide)
    if a.dtype.scalar == tl.float32 and input_precision == _ir.INPUT_PRECISION.TF32:
        x, y = interpreter._round_f32_to_tf32(x), interpreter._round_f32_to_tf32(y)
    return TensorHandle((np.matmul(x, y) + d.data.astype(wide)).astype(d.data.dtype), d.dtype.scalar)


def create_dot_scaled(self, lhs, lhs_scale, lhs_format, rhs, *rest):
    small = [TensorHandle(raw(h.data), h.dtype) for h in (lhs, rhs)]
    return _shipped_dot_scaled(self, small[0], lhs_scale, lhs_format, small[1], *rest)


def create_atomic_rmw(self, op, ptr, val, mask, sem, scope):
    """Atomics on types of 16 bits, which the shipped code refuses or gets wrong, one element after the other."""
    if val.data.dtype.itemsize != 2 or val.dtype.is_int():
        return _shipped_rmw(self, op, ptr, val, mask, sem, scope)
    step = {
        _ir.ATOMIC_OP.FADD: np.add,
        _ir.ATOMIC_OP.MAX: np.maximum,
        _ir.ATOMIC_OP.MIN: np.minimum,
        _ir.ATOMIC_OP.XCHG: lambda old, new: new
    }[op]
    ptrs, values, masks = np.broadcast_arrays(ptr.data, val.data, mask.data)
    old = np.zeros(ptrs.shape, val.data.dtype)
    one = np.ones(1, bool)
    for i in np.ndindex(ptrs.shape):
        if masks[i]:
            place, new = TensorHandle(ptrs[i].reshape(1), ptr.dtype), values[i]
            old[i] = self.create_masked_load(place, TensorHandle(one, tl.int1), None, None, False).data[0]
            result = np.asarray([step(old[i], new)], val.data.dtype)
            self.create_masked_store(place, TensorHandle(result, val.dtype), TensorHandle(one, tl.int1), None)
    return TensorHandle(old, val.dtype.scalar)


# --- reductions and scans with a combine function -------------------------------------------------------------------


def _branches(fn):
    """Does the function decide on values? Then it must see one element at a time."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(fn)))
    return any(isinstance(n, (ast.If, ast.IfExp, ast.While, ast.BoolOp)) for n in ast.walk(tree))


def _combine(self, left, right, dtypes):
    """combine_fn of two slices, each a tuple of arrays."""
    tensors = [self.to_tensor(np.atleast_1d(x), t) for x, t in zip((*left, *right), (*dtypes, *dtypes))]
    result = self.combine_fn.fn(*tensors)
    result = result if isinstance(result, tuple) else (result, )
    return [
        np.broadcast_to(r.handle.data,
                        np.atleast_1d(x).shape).reshape(np.shape(x)).astype(x.dtype) for r, x in zip(result, left)
    ]


def generic_reduce(self, input):
    if _branches(self.combine_fn.fn):
        return _shipped_reduce(self, input)
    dtypes, arrays, axis = [t.dtype for t in input], [t.handle.data for t in input], self.axis
    if axis is None:
        arrays, axis = [a.reshape(-1) for a in arrays], 0
    arrays = [np.moveaxis(a, axis, 0) for a in arrays]
    while len(arrays[0]) > 1:  # halves, as a GPU's tree; the length is a power of two
        half = len(arrays[0]) // 2
        arrays = _combine(self, [a[:half] for a in arrays], [a[half:] for a in arrays], dtypes)
    arrays = [a[0] for a in arrays]
    if self.keep_dims:
        shape = [1] * len(input[0].shape) if self.axis is None else None
        arrays = [a.reshape(shape) if shape else np.expand_dims(a, axis) for a in arrays]
    return [self.to_tensor(a, t) for a, t in zip(arrays, dtypes)]


def generic_scan(self, input):
    if _branches(self.combine_fn.fn):
        return _shipped_scan(self, input)
    dtypes, arrays = [t.dtype for t in input], [np.moveaxis(t.handle.data, self.axis, 0).copy() for t in input]
    for i in range(1, len(arrays[0])):
        for a, made in zip(arrays, _combine(self, [a[i - 1] for a in arrays], [a[i] for a in arrays], dtypes)):
            a[i] = made
    return [self.to_tensor(np.moveaxis(a, 0, self.axis), t) for a, t in zip(arrays, dtypes)]


# --- libdevice and other device functions ---------------------------------------------------------------------------

_erf = np.vectorize(math.erf, otypes=[np.float64])
_LIBDEVICE = {
    "abs": np.abs,
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "atanh": np.arctanh,
    "cbrt": np.cbrt,
    "ceil": np.ceil,
    "copysign": np.copysign,
    "cos": np.cos,
    "cosh": np.cosh,
    "div_rn": np.divide,
    "erf": _erf,
    "exp": np.exp,
    "exp10": lambda x: np.power(10.0, x),
    "exp2": np.exp2,
    "expm1": np.expm1,
    "fast_cosf": np.cos,
    "fast_dividef": np.divide,
    "fast_exp10f": lambda x: np.power(10.0, x),
    "fast_expf": np.exp,
    "fast_log10f": np.log10,
    "fast_log2f": np.log2,
    "fast_logf": np.log,
    "fast_powf": np.power,
    "fast_sinf": np.sin,
    "fast_tanf": np.tan,
    "fast_tanhf": np.tanh,
    "fdim": lambda x, y: np.maximum(x - y, 0),
    "floor": np.floor,
    "fma": lambda x, y, z: x * y + z,
    "fmod": np.fmod,
    "hypot": np.hypot,
    "log": np.log,
    "log10": np.log10,
    "log1p": np.log1p,
    "log2": np.log2,
    "nearbyint": np.rint,
    "pow": np.power,
    "rint": np.rint,
    "round": lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x),
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sin": np.sin,
    "sinh": np.sinh,
    "sqrt": np.sqrt,
    "tan": np.tan,
    "tanh": np.tanh,
    "trunc": np.trunc,
}
_TESTS = {"isnan": np.isnan, "isinf": np.isinf, "finitef": np.isfinite, "isfinited": np.isfinite, "signbit": np.signbit}


def _device_function(name):

    def call(*args, _semantic=None):
        values = [interpreter.interpreter_semantic.to_tensor(a) for a in args]
        if name in _TESTS:
            data, dtype = _TESTS[name](values[0].handle.data).astype(np.int32), tl.int32
        elif name in _LIBDEVICE:
            dtype = values[0].dtype
            data = _LIBDEVICE[name](*(v.handle.data.astype(np.float64) for v in values)).astype(np_dtype(dtype))
        else:
            raise Unsupported(f"libdevice.{name} runs on a GPU only")
        shape = list(np.broadcast_shapes(*(v.shape for v in values)))
        return tl.tensor(TensorHandle(data, dtype), tl.block_type(dtype, shape) if shape else dtype)

    return call


def _gpu_only(what):

    def refuse(*args, **kwargs):
        raise Unsupported(f"{what} runs on a GPU only")

    return refuse


def _patch_once():
    """The language functions are patched for good: everything in this process is interpreted."""
    scope = interpreter._LangPatchScope()
    for lang in (tl, tl.core):
        interpreter._patch_builtin(lang, interpreter.interpreter_builder, scope)
        interpreter._patch_builtin(lang.tensor, interpreter.interpreter_builder, scope)
        interpreter._patch_lang_tensor(lang.tensor, scope)
        interpreter._patch_lang_core(lang, scope)
    interpreter._patch_builtin(tl.math, interpreter.interpreter_builder, scope)
    interpreter._patch_builtin(tl.core.tensor_descriptor_base, interpreter.interpreter_builder, scope)
    scope.restore = lambda: None
    interpreter._patch_lang = lambda fn: scope


def install():
    global _shipped_fma, _shipped_dot_scaled, _shipped_rmw, _shipped_reduce, _shipped_scan
    _shipped_fma, _shipped_dot_scaled = InterpreterBuilder.create_fma, InterpreterBuilder.create_dot_scaled
    _shipped_rmw = InterpreterBuilder.create_atomic_rmw
    _shipped_reduce, _shipped_scan = ReduceOps.generic_reduce, ScanOps.generic_scan
    np.seterr(all="ignore")
    interpreter._get_np_dtype = np_dtype
    for fn in (cast_impl, create_fp_to_fp, create_clampf, create_fma, create_dot, create_dot_scaled, create_atomic_rmw):
        setattr(InterpreterBuilder, fn.__name__, fn)
    InterpreterBuilder.create_inline_asm = _gpu_only("inline assembly")
    InterpreterBuilder.create_extern_elementwise = _gpu_only("an external function")
    ReduceOps.generic_reduce, ScanOps.generic_scan = generic_reduce, generic_scan
    for module in (generic_libdevice, extra_cuda.libdevice):
        for name in [n for n, f in vars(module).items() if inspect.isfunction(f)]:
            setattr(module, name, _device_function(name))
    # nothing runs at the same time here
    extra_cuda.gdc_wait = extra_cuda.gdc_launch_dependents = lambda *args, **kwargs: None
    _patch_once()
