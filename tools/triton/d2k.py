"""The host side of a submission: element types, tensors without values, scratch.

A tensor knows its shape, strides, element type and where it lies: a buffer and an offset in bytes. Values live on the
device only. Who runs the submission (record.py, interpret.py) installs a host, which makes the buffers; the public
names here are all that a submission may count on.
"""
import math as _math

__all__ = [
    "empty", "zeros", "cdiv", "next_power_of_2", "num_sms", "HostReadError", "float32", "float16", "bfloat16",
    "float8_e4m3fn", "float8_e5m2", "int64", "int32", "int16", "int8", "uint8", "bool"
]


class HostReadError(Exception):
    """Host code asked for the value of a tensor."""


class DType:
    """An element type; str() is PyTorch's name, by which Triton knows it."""

    def __init__(self, name, itemsize, is_floating_point):
        self.name, self.itemsize, self.is_floating_point = name, itemsize, is_floating_point

    def __str__(self):
        return "torch." + self.name

    def __repr__(self):
        return "d2k." + self.name


_FLOATS = {"float64": 8, "float32": 4, "float16": 2, "bfloat16": 2, "float8_e4m3fn": 1, "float8_e5m2": 1}
_INTEGERS = {"int64": 8, "int32": 4, "int16": 2, "int8": 1, "uint8": 1, "bool": 1}
_dtypes = {name: DType(name, size, True) for name, size in _FLOATS.items()}
_dtypes |= {name: DType(name, size, False) for name, size in _INTEGERS.items()}
globals().update({name: dtype for name, dtype in _dtypes.items() if name != "bool"})
_builtin_bool, _MAX_BYTES = bool, 1 << 40


class Buffer:
    """A piece of device memory: a tensor of the task, or scratch. Two are the same only if they are one object."""

    def __init__(self, name, nbytes, role, address):
        self.name, self.nbytes, self.role, self.address = name, nbytes, role, address


def contiguous_strides(shape):
    strides, n = [], 1
    for extent in reversed(shape):
        strides.append(n)
        n *= max(extent, 1)
    return tuple(reversed(strides))


def _extent(value, what):
    if isinstance(value, _builtin_bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{what} must be whole numbers, not {value!r}")
    return value.__index__()


def _no_value(what):

    def method(self, *args, **kwargs):
        raise HostReadError(f"{what} needs the values of a tensor, which host code does not have; "
                            "decide by shapes here, and by values inside a kernel")

    return method


class Tensor:
    """A view of a buffer. Strides are in elements, the offset in bytes."""

    def __init__(self, buffer, dtype, shape, strides=None, offset=0):
        self._buffer, self._offset, self.dtype = buffer, offset, dtype
        self.shape = tuple(shape)
        self._strides = contiguous_strides(self.shape) if strides is None else tuple(strides)

    def __repr__(self):
        return f"tensor({self._buffer.name}, shape={self.shape}, dtype={self.dtype!r})"

    @property
    def ndim(self):
        return len(self.shape)

    def dim(self):
        return len(self.shape)

    def size(self, dim=None):
        return self.shape if dim is None else self.shape[dim]

    def stride(self, dim=None):
        return self._strides if dim is None else self._strides[dim]

    def numel(self):
        return _math.prod(self.shape)

    def element_size(self):
        return self.dtype.itemsize

    def storage_offset(self):
        return self._offset // self.dtype.itemsize

    def data_ptr(self):
        return self._buffer.address + self._offset

    def is_contiguous(self):
        return all(n == 1 or s == c for n, s, c in zip(self.shape, self._strides, contiguous_strides(self.shape)))

    def contiguous(self):
        if not self.is_contiguous():
            raise ValueError("contiguous() would copy; copy in a kernel")
        return self

    def view(self, *shape):
        """The same elements in another shape (one extent may be -1), or as another type of the same size."""
        if len(shape) == 1 and isinstance(shape[0], DType):
            if shape[0].itemsize != self.dtype.itemsize:
                raise ValueError(f"view of {self.dtype!r} as {shape[0]!r}: the element sizes differ")
            return Tensor(self._buffer, shape[0], self.shape, self._strides, self._offset)
        if len(shape) == 1 and isinstance(shape[0], (tuple, list)):
            shape = shape[0]
        shape = [_extent(n, "extents") for n in shape]
        if shape.count(-1) == 1:
            rest = _math.prod(n for n in shape if n != -1)
            shape[shape.index(-1)] = self.numel() // rest if rest else 0
        if any(n < 0 for n in shape) or _math.prod(shape) != self.numel():
            raise ValueError(f"cannot view shape {self.shape} as {tuple(shape)}")
        if not self.is_contiguous():
            raise ValueError("only a contiguous tensor can be viewed in another shape")
        return Tensor(self._buffer, self.dtype, shape, None, self._offset)

    reshape = view

    def __len__(self):
        if not self.shape:
            raise TypeError("a tensor without dimensions has no length")
        return self.shape[0]

    def __getitem__(self, index):
        index = index if isinstance(index, tuple) else (index, )
        if len(index) > self.ndim:
            raise IndexError(f"{len(index)} indices for {self.ndim} dimensions")
        shape, strides, offset = [], [], 0
        for i, n, stride in zip(index, self.shape, self._strides):
            if isinstance(i, slice):
                start, stop, step = i.indices(n)
                if step < 1:
                    raise IndexError("slices must go forward")
                shape.append(max(0, -(-(stop - start) // step)))
                strides.append(stride * step)
                offset += stride * start if shape[-1] else 0
            else:
                i = _extent(i, "indices")
                if not -n <= i < n:
                    raise IndexError(f"index {i} is out of range for an extent of {n}")
                offset += stride * (i % n)
        shape += self.shape[len(index):]
        strides += self._strides[len(index):]
        return Tensor(self._buffer, self.dtype, shape, strides, self._offset + offset * self.dtype.itemsize)

    def __getattr__(self, name):
        raise AttributeError(f"a d2k tensor has no attribute '{name}': host code has shapes and views only "
                             "(shape, dtype, ndim, stride, numel, element_size, view, reshape, data_ptr, indexing)")

    __hash__ = object.__hash__


for _name in ("item", "tolist", "numpy", "cpu", "any", "all", "max", "min", "sum", "mean", "nonzero"):
    setattr(Tensor, _name, _no_value(f".{_name}()"))
for _name in ("__float__", "__int__", "__index__", "__bool__", "__complex__", "__contains__", "__setitem__"):
    setattr(Tensor, _name, _no_value({"__bool__": "a condition"}.get(_name, _name.strip("_") + "()")))
for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "lshift", "rshift", "and", "or",
              "xor"):
    for _form in (_name, "r" + _name, "i" + _name):
        setattr(Tensor, f"__{_form}__", _no_value("arithmetic"))
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(Tensor, f"__{_name}__", _no_value("a comparison"))
for _name in ("neg", "pos", "abs", "invert"):
    setattr(Tensor, f"__{_name}__", _no_value("arithmetic"))

_host = None  # has scratch(nbytes, zero) -> Buffer and num_sms


def _running():
    if _host is None:
        raise RuntimeError("d2k.empty, d2k.zeros and d2k.num_sms can only be called inside run()")
    return _host


def _scratch(shape, dtype, zero):
    host = _running()
    if not isinstance(dtype, DType):
        raise TypeError(f"dtype must be a d2k type such as d2k.float32, or a tensor's dtype, not {dtype!r}")
    shape = [_extent(n, "extents") for n in (shape if isinstance(shape, (tuple, list)) else (shape, ))]
    nbytes = _math.prod(shape) * dtype.itemsize
    if any(n < 0 for n in shape) or nbytes > _MAX_BYTES:
        raise ValueError(f"cannot allocate shape {tuple(shape)}")
    return Tensor(host.scratch(max(nbytes, 1), zero), dtype, shape)


def empty(shape, dtype):
    """Scratch in device memory, with garbage in it."""
    return _scratch(shape, dtype, False)


def zeros(shape, dtype):
    """Scratch that is set to zero, in order with the launches, each time the plan runs."""
    return _scratch(shape, dtype, True)


def cdiv(a, b):
    """a / b, rounded up."""
    return -(-a // b)


def next_power_of_2(n):
    """The smallest power of two that is at least n."""
    return 1 << max(n - 1, 0).bit_length()


def num_sms():
    """The number of SMs of the target."""
    return _running().num_sms


bool = _dtypes["bool"]  # last: above, bool is still Python's
