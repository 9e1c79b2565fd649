"""Holds the interpreter's arithmetic against numpy, one small kernel a line of TAP. Run by tests/interpret.t."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tools/triton"))
import interpret
import ml_dtypes
import numpy as np

BF16, E4M3, E5M2 = ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2
NAMES = {np.dtype(BF16): "bfloat16", np.dtype(E4M3): "float8_e4m3fn", np.dtype(E5M2): "float8_e5m2"}
HEAD = """
import triton
import triton.language as tl
import d2k
from triton.tools.tensor_descriptor import TensorDescriptor
from triton.language.extra import libdevice
"""
interpret.install()
rng = np.random.default_rng(7)
tests = 0


def run(source, arrays):
    """Runs a submission on copies of the arrays; returns its result and the copies."""
    tensors, offset = [], 0
    for i, a in enumerate(arrays):
        tensors.append(
            dict(name=f"t{i}", dtype=NAMES.get(a.dtype, a.dtype.name), shape=list(a.shape), role="inout",
                 offset=offset))
        offset += (a.nbytes + 511) // 256 * 256
    memory = np.zeros(offset, np.uint8)
    views = [interpret.view(memory, t) for t in tensors]
    for view, a in zip(views, arrays):
        view[...] = a
    result = interpret.interpret(dict(source=HEAD + source, params={}, tensors=tensors), memory)
    return result, views


def ok(good, name, detail=""):
    global tests
    tests += 1
    print(f"{'ok' if good else 'not ok'} {tests} - {name}")
    if not good:
        print("#", str(detail).replace("\n", "\n# "))


def same(a, b):
    return a.tobytes() == b.tobytes()


def elementwise(name, expression, out, *inputs):
    """y = expression(x0, x1, ...) must equal `out` bit for bit."""
    names = [f"x{i}" for i in range(len(inputs))]
    loads = "\n".join(f"    {n} = tl.load({n}p + i)" for n in names)
    args = ", ".join(f"{n}p" for n in names)
    result, views = run(
        f"""
@triton.jit
def k({args}, yp, N: tl.constexpr):
    i = tl.arange(0, N)
{loads}
    tl.store(yp + i, {expression})
def run({args}, yp):
    k[(1,)]({args}, yp, {out.size})
""", [*inputs, np.zeros_like(out)])
    good = result["status"] == "ok" and same(views[-1], out)
    wrong = np.flatnonzero(views[-1].view(np.uint8) != out.view(np.uint8)) // out.itemsize
    shown = [(inputs[0][i], views[-1][i], out[i]) for i in np.unique(wrong)[:4]]
    ok(good, name, f"{result['message']} {shown}")


def saturated(x, dtype, top):
    return np.clip(x.astype(np.float32), -top, top).astype(dtype)


special = np.array(
    [0.0, -0.0, 1e-9, 0.001953125 / 2, 447.9, 448, 460, 464, 465, -1e9, 57344, 6e4, 1e30, np.inf, -np.inf, 3e-45],
    np.float32)
f32 = np.concatenate([special, (rng.standard_normal(1008) * np.exp2(rng.integers(-20, 20, 1008))).astype(np.float32)])
g32 = rng.permutation(f32)
bf, bg = f32.astype(BF16), g32.astype(BF16)
finite = np.clip(rng.standard_normal(1024), -3, 3).astype(np.float32)
np.seterr(all="ignore")

elementwise("float32 to bfloat16 rounds to nearest even", "x0.to(tl.bfloat16)", f32.astype(BF16), f32)
elementwise("float32 to bfloat16, toward zero", 'x0.to(tl.bfloat16, fp_downcast_rounding="rtz")',
            (f32.view(np.uint32) >> 16).astype(np.uint16).view(BF16), f32)
elementwise("float32 to e4m3 saturates", "x0.to(tl.float8e4nv)", saturated(f32, E4M3, 448), f32)
elementwise("float32 to e5m2 saturates", "x0.to(tl.float8e5)", saturated(f32, E5M2, 57344), f32)
elementwise("bfloat16 to e4m3", "x0.to(tl.float8e4nv)", saturated(bf, E4M3, 448), bf)
elementwise("e4m3 to float32", "x0.to(tl.float32)",
            saturated(f32, E4M3, 448).astype(np.float32), saturated(f32, E4M3, 448))
elementwise("e4m3 to bfloat16", "x0.to(tl.bfloat16)",
            saturated(f32, E4M3, 448).astype(np.float32).astype(BF16), saturated(f32, E4M3, 448))
elementwise("bfloat16 to float16", "x0.to(tl.float16)", bf.astype(np.float32).astype(np.float16), bf)
elementwise("int32 to bfloat16", "x0.to(tl.bfloat16)",
            np.arange(-512, 512).astype(np.float32).astype(BF16), np.arange(-512, 512, dtype=np.int32))
elementwise("bfloat16 to int32 cuts", "x0.to(tl.int32)", (finite * 50).astype(BF16).astype(np.float32).astype(np.int32),
            (finite * 50).astype(BF16))
elementwise("NaN survives the cast to e4m3", "x0.to(tl.float8e4nv).to(tl.float32)",
            np.full(4, np.nan, np.float32).astype(E4M3).astype(np.float32), np.full(4, np.nan, np.float32))
elementwise("bfloat16 sum", "x0 + x1", (bf.astype(np.float32) + bg.astype(np.float32)).astype(BF16), bf, bg)
elementwise("bfloat16 product", "x0 * x1", (bf.astype(np.float32) * bg.astype(np.float32)).astype(BF16), bf, bg)
elementwise("bfloat16 comparison and select", "tl.where(x0 > x1, x0, x1)",
            np.where(bf.astype(np.float32) > bg.astype(np.float32), bf, bg), bf, bg)
elementwise("bfloat16 maximum", "tl.maximum(x0, x1)", np.fmax(bf, bg), bf, bg)
elementwise("bfloat16 absolute value and sign", "-tl.abs(x0)", -np.abs(bf), bf)
elementwise("bfloat16 clamp", "tl.clamp(x0, -1.0, 1.0)", np.clip(bf.astype(np.float32), -1, 1).astype(BF16), bf)
elementwise("bfloat16 bit pattern", "x0.to(tl.int16, bitcast=True)", bf.view(np.int16), bf)
elementwise("cumulative sum", "tl.cumsum(x0, 0)", np.cumsum(np.arange(256, dtype=np.int32)),
            np.arange(256, dtype=np.int32))
elementwise("reverse cumulative product", "tl.cumprod(x0, 0, reverse=True)",
            np.cumprod(np.full(8, 2.0, np.float32))[::-1].copy(), np.full(8, 2.0, np.float32))
elementwise("sort of float32", "tl.sort(x0)", np.sort(finite[:256]), finite[:256].copy())
elementwise("sort of bfloat16", "tl.sort(x0)",
            np.sort(finite[:128].astype(BF16).astype(np.float32)).astype(BF16), finite[:128].astype(BF16))
elementwise("libdevice tanh", "libdevice.tanh(x0)", np.tanh(finite.astype(np.float64)).astype(np.float32), finite)
elementwise("gather", "tl.gather(x0, x1, 0)",
            np.arange(64, dtype=np.float32)[::-1].copy(), np.arange(64, dtype=np.float32),
            np.arange(64, dtype=np.int32)[::-1].copy())

# a combine function of the submission's own, with and without a branch
for name, body in (("without a branch", "    return tl.where(a > b, a, b), tl.where(a > b, i, j)"),
                   ("with a branch", "    if a > b:\n        return a, i\n    return b, j")):
    result, views = run(
        f"""
@triton.jit
def larger(a, i, b, j):
{body}
@triton.jit
def k(x, y, z, M: tl.constexpr, N: tl.constexpr):
    m, n = tl.arange(0, M), tl.arange(0, N)
    t = tl.load(x + m[:, None] * N + n[None, :])
    top, at = tl.reduce((t, tl.broadcast_to(n[None, :], M, N)), 1, larger)
    tl.store(y + m, top)
    tl.store(z + m, at)
def run(x, y, z):
    k[(1,)](x, y, z, 4, 32)
""", [finite[:128].reshape(4, 32), np.zeros(4, np.float32),
      np.zeros(4, np.int32)])
    ok(
        same(views[1], finite[:128].reshape(4, 32).max(1))
        and same(views[2], finite[:128].reshape(4, 32).argmax(1).astype(np.int32)),
        f"reduction with a combine function {name}", result["message"])

result, views = run(
    """
@triton.jit
def decay(a, x, b, y):
    return a * b, x * b + y
@triton.jit
def k(a, x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    f, s = tl.associative_scan((tl.load(a + i), tl.load(x + i)), 0, decay)
    tl.store(y + i, s)
def run(a, x, y):
    k[(1,)](a, x, y, 64)
""", [np.full(64, 0.5, np.float32), np.ones(64, np.float32),
      np.zeros(64, np.float32)])
ok(np.allclose(views[2], 2 - 0.5**np.arange(64), rtol=1e-6), "associative scan of pairs", result["message"])

DOT = """
@triton.jit
def k(a, b, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m, n, kk = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    x, y = tl.load(a + m[:, None] * K + kk[None, :]), tl.load(b + kk[:, None] * N + n[None, :])
    tl.store(c + m[:, None] * N + n[None, :], tl.dot(x, y%s))
def run(a, b, c):
    k[(1,)](a, b, c, 32, 16, 64)
"""
a, b = rng.standard_normal((32, 64)).astype(np.float32), rng.standard_normal((64, 16)).astype(np.float32)
for dtype in (BF16, E4M3, E5M2, np.float16):
    x, y = a.astype(dtype), b.astype(dtype)
    result, views = run(DOT % "", [x, y, np.zeros((32, 16), np.float32)])
    ok(np.allclose(views[2], x.astype(np.float64) @ y.astype(np.float64), rtol=1e-4, atol=1e-4),
       f"dot of {NAMES.get(np.dtype(dtype), 'float16')}", result["message"])
result, views = run(DOT % "", [a, b, np.zeros((32, 16), np.float32)])
error = np.linalg.norm(views[2] - a.astype(np.float64) @ b) / np.linalg.norm(a @ b)
ok(1e-5 < error < 1e-3, "dot of float32 rounds its operands to TF32", f"relative error {error}")
result, views = run(DOT % ', input_precision="ieee"', [a, b, np.zeros((32, 16), np.float32)])
error = np.linalg.norm(views[2] - a.astype(np.float64) @ b) / np.linalg.norm(a @ b)
ok(error < 1e-6, "dot of float32 in full precision", f"relative error {error} {result['message']}")

result, views = run(
    """
@triton.jit
def k(x, y, M, N, BM: tl.constexpr, BN: tl.constexpr):
    src = tl.make_tensor_descriptor(x, [M, N], [N, 1], [BM, BN])
    dst = tl.make_tensor_descriptor(y, [M, N], [N, 1], [BM, BN])
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    dst.store([m, n], src.load([m, n]) * 2)
@triton.jit
def h(d, y, N: tl.constexpr):
    i = tl.arange(0, 16)
    tl.store(y + i[:, None] * N + i[None, :], d.load([32, 32]))
def run(x, y, z):
    k[(d2k.cdiv(x.shape[0], 16), d2k.cdiv(x.shape[1], 16))](x, y, x.shape[0], x.shape[1], 16, 16)
    h[(1,)](TensorDescriptor.from_tensor(y, [16, 16]), z, 16)
""", [bf[:1000].reshape(25, 40), np.zeros(
        (25, 40), BF16), np.ones((16, 16), BF16)])
ok(same(views[1], (bf[:1000].astype(np.float32) * 2).astype(BF16).reshape(25, 40)),
   "descriptors made on the device, ragged", result["message"])
ok(result["status"] == "ok" and not views[2].astype(np.float32)[:, 8:].any(),
   "a descriptor made on the host reads zeros outside", result["message"])

for dtype in (np.float32, np.int32, np.float16, BF16):
    result, views = run(
        """
@triton.jit
def k(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.atomic_add(y + i % 4, tl.load(x + i))
def run(x, y):
    k[(3,)](x, y, 32)
""", [np.ones(32, dtype), np.zeros(4, dtype)])
    ok(same(views[1],
            np.full(4, 24).astype(dtype)),
       f"atomic add of {NAMES.get(np.dtype(dtype), np.dtype(dtype).name)} with repeated places",
       f"{result['message']} {views[1]}")


def refused(name, source, arrays, status, text):
    result, views = run(source, arrays)
    ok(result["status"] == status and text in result["message"], name, result)


ones = np.ones(64, np.float32)
LOAD = """
@triton.jit
def k(x, y, n, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y + i, tl.load(x + i), mask=i < 64)
def run(x, y):
    k[(1,)](x, y, 64, %d)
"""
refused("a load outside every tensor is a fault, with its line", LOAD % 256, [ones, ones], "fault",
        "submission.py:11: in k:")
refused("Gluon is unsupported",
        "from triton.experimental import gluon\n@gluon.jit\ndef k(x): pass\ndef run(x, y): pass\n", [ones, ones],
        "unsupported", "Gluon")
refused("a cooperative launch is unsupported", (LOAD % 64).replace("64)", "64, launch_cooperative_grid=True)"),
        [ones, ones], "unsupported", "cooperative")
refused(
    "inline assembly is unsupported", """
@triton.jit
def k(x, y):
    i = tl.arange(0, 64)
    t = tl.inline_asm_elementwise("mov.b32 $0, $1;", "=r,r", [tl.load(x + i)], tl.float32, is_pure=True, pack=1)
    tl.store(y + i, t)
def run(x, y):
    k[(1,)](x, y)
""", [ones, ones], "unsupported", "inline assembly")
refused("reading a value on the host", "def run(x, y):\n    if x[0] > 0: pass\n", [ones, ones], "host_reads_tensor",
        "submission.py:8")
result, views = run(
    """
@triton.autotune([triton.Config({"N": 48}), triton.Config({"N": 64})], key=[])
@triton.jit
def k(x, y, N: tl.constexpr):
    tl.static_assert(N == 64)
    i = tl.arange(0, N)
    tl.store(y + i, tl.load(x + i) * 3)
def run(x, y):
    k[(1,)](x, y)
""", [ones, ones * 0])
ok(same(views[1], ones * 3), "autotune takes the first configuration that compiles", result["message"])
result, views = run(
    """
@triton.jit
def k(y):
    tl.store(y, tl.load(y + 1))
def run(x, y):
    k[(1,)](d2k.empty(64, d2k.float32))
    z = d2k.zeros(64, d2k.float32)
    k[(1,)](z)
""", [ones, ones])
ok(result["status"] == "ok", "scratch can be read and written", result["message"])
print(f"1..{tests}")
