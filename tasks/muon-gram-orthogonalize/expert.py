"""Newton-Schulz on the n x n Gram side (n the short side), in two segments.

A segment takes a rectangular stack X to R = X X^T and then only ever multiplies n x n matrices: a step's factor is
Q = a I + b R + c R^2, the Gram matrix of the next step is Q R Q, and the factors of a segment multiply up to one, P,
which is applied to X at its end. After two steps X is written out and its Gram matrix made anew, because rounding
errors of R grow with each step.

G is never normalised as such. The trace of its Gram matrix is its squared norm, and comes with the tiles on the
diagonal. The first segment carries R times that, which bfloat16 can hold, and divides where factors are made; the
second one needs the precision of float16.

All n x n matrices are symmetric, so only tiles on and below the diagonal are computed, and mirrored. But inside of the
tiles on the diagonal they are symmetric only up to rounding, so products are still taken row by column (rows by rows,
the difference would grow), and it is the rows of P that meet X, whichever way X lies.
"""
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor
import d2k

STEPS = ((4.0848, -6.8946, 2.9270), (3.9505, -6.3029, 2.6377), (3.7418, -5.5913, 2.3037),
         (2.8769, -3.1427, 1.2046), (2.8366, -3.0525, 1.2012))
TILE, DEPTH = tl.constexpr(128), tl.constexpr(64)  # of a program's result, and of the slices that it sums over
BAND = tl.constexpr(8)  # rows of tiles that are walked through together, for the sake of L2


@triton.jit
def triangle_tile():
    """Where this program's tile begins, counting a lower triangle row by row."""
    t = tl.program_id(0)
    i = ((tl.sqrt_rn(8.0 * t + 1.0) - 1.0) * 0.5).to(tl.int32)  # exact, as long as 8 t + 1 is
    return i * TILE, (t - i * (i + 1) // 2) * TILE


@triton.jit
def band_tile(m_size, n_size):
    """Where this program's tile begins, walking through an m x n matrix band by band."""
    t, wide = tl.program_id(0), BAND * tl.cdiv(n_size, TILE)
    first = t // wide * BAND
    rows = min(tl.cdiv(m_size, TILE) - first, BAND)
    return (first + t % wide % rows) * TILE, t % wide // rows * TILE


@triton.jit
def multiply(x, y, row, col, size, X_ACROSS: tl.constexpr = False, Y_ACROSS: tl.constexpr = False):
    """The tile of X Y. ACROSS: the operand is stored as its transpose. Three stages let two programs share an SM."""
    b = tl.program_id(1)
    acc = tl.zeros((TILE, TILE), tl.float32)
    for k in tl.range(0, size, DEPTH, num_stages=3):
        if X_ACROSS:
            left = x.load([b, k, row]).reshape(DEPTH, TILE).T
        else:
            left = x.load([b, row, k]).reshape(TILE, DEPTH)
        if Y_ACROSS:
            right = y.load([b, col, k]).reshape(TILE, DEPTH).T
        else:
            right = y.load([b, k, col]).reshape(DEPTH, TILE)
        acc = tl.dot(left, right, acc)
    return acc


@triton.jit
def store(c, row, col, acc):
    c.store([tl.program_id(1), row, col], acc.to(c.dtype).reshape(1, TILE, TILE))


@triton.jit
def store_mirrored(c, row, col, acc):
    store(c, row, col, acc)
    if row != col:
        store(c, col, row, acc.T)


@triton.jit
def on_diagonal(row, col):
    return (row + tl.arange(0, TILE))[:, None] == (col + tl.arange(0, TILE))[None, :]


@triton.jit
def inverse_norm(trace):
    return 1 / (tl.sqrt(tl.load(trace + tl.program_id(1))) + 1e-7)


@triton.jit
def gram_kernel(x, y, r, trace, size, TALL: tl.constexpr):
    """R = X X^T, or X^T X if X is TALL, and its trace if that is asked for. Y is X as the right operand."""
    row, col = triangle_tile()
    acc = multiply(x, y, row, col, size, X_ACROSS=TALL, Y_ACROSS=not TALL)
    store_mirrored(r, row, col, acc)
    if trace is not None:
        if row == col:
            tl.atomic_add(trace + tl.program_id(1), tl.sum(tl.where(on_diagonal(row, col), acc, 0)))


@triton.jit
def factor_kernel(x, y, r, q, trace, n, a, b, c):
    """Q = a I + b R + c R^2, R divided by the trace if there is one. X and Y are R as operands."""
    row, col = triangle_tile()
    acc = multiply(x, y, row, col, n)
    if trace is not None:
        scale = inverse_norm(trace) * inverse_norm(trace)
        b *= scale
        c *= scale * scale
    acc = c * acc + b * r.load([tl.program_id(1), row, col]).reshape(TILE, TILE).to(tl.float32)
    store_mirrored(q, row, col, tl.where(on_diagonal(row, col), acc + a, acc))


@triton.jit
def square_kernel(x, y, c, n):
    """C = X Y, all n x n and symmetric."""
    row, col = triangle_tile()
    store_mirrored(c, row, col, multiply(x, y, row, col, n))


@triton.jit
def apply_kernel(x, y, c, trace, m_size, n_size, k_size, TALL: tl.constexpr):
    """C = X Y, or X Y^T if X is TALL, divided by the root of the trace if there is one."""
    row, col = band_tile(m_size, n_size)
    acc = multiply(x, y, row, col, k_size, Y_ACROSS=TALL)
    if trace is not None:
        acc *= inverse_norm(trace)
    store(c, row, col, acc)


def tiles(tensor):
    return TensorDescriptor.from_tensor(tensor, [1, TILE.value, TILE.value])


def operands(x, y, x_across=False, y_across=False):
    """The left and the right operand of a product, cut into slices."""
    boxes = [1, TILE.value, DEPTH.value], [1, DEPTH.value, TILE.value]
    return TensorDescriptor.from_tensor(x, boxes[x_across]), TensorDescriptor.from_tensor(y, boxes[not y_across])


def segment(X, Y, trace, steps):
    """Y = X after some steps. With a trace to put in, X is still to be normalised."""
    batch, rows, cols = X.shape
    n, tall = min(rows, cols), rows > cols
    R, Q, P, T = (d2k.empty((batch, n, n), X.dtype) for _ in range(4))
    side = d2k.cdiv(n, TILE.value)
    triangle = side * (side + 1) // 2, batch

    def square(x, y, c):
        square_kernel[triangle](*operands(x, y), tiles(c), n)

    gram_kernel[triangle](*operands(X, X, tall, not tall), tiles(R), trace, max(rows, cols), TALL=tall)
    for i, step in enumerate(steps):
        factor_kernel[triangle](*operands(R, R), tiles(R), tiles(Q), trace, n, *step)
        if i < len(steps) - 1:
            square(R, Q, T)
            square(T, Q, R)
        if i == 0:
            P, Q = Q, P
        else:
            square(P, Q, T)
            P, T = T, P
    grid = d2k.cdiv(rows, TILE.value) * d2k.cdiv(cols, TILE.value), batch
    left, right = (X, P) if tall else (P, X)
    apply_kernel[grid](*operands(left, right, y_across=tall), tiles(Y), trace, rows, cols, n, TALL=tall)


def run(G, O):
    trace = d2k.zeros(G.shape[:1], d2k.float32)
    X = d2k.empty(G.shape, d2k.float16)
    segment(G, X, trace, STEPS[:2])
    segment(X, O, None, STEPS[2:])
