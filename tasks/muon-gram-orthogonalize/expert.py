"""Newton-Schulz on the n x n Gram side (n the short side), in two segments.

A segment takes a rectangular stack X to R = X X^T and then only ever multiplies n x n matrices: a step's factor is
Q = a I + b R + c R^2, the Gram matrix of the next step is Q R Q, and the factors of a segment multiply up to one, which
is applied to X at its end. After two steps X is written out and its Gram matrix made anew, because rounding errors of R
grow with each step. All n x n matrices are symmetric, so only tiles on and below the diagonal are computed; but their
products are still taken row by column, because tiles on the diagonal are symmetric only up to rounding, and taking
columns for rows there would let the difference grow.
"""
import triton
import triton.language as tl
from triton.language.extra import cuda
from triton.tools.tensor_descriptor import TensorDescriptor
import d2k

SEGMENTS = (((4.0848, -6.8946, 2.9270), (3.9505, -6.3029, 2.6377)),
            ((3.7418, -5.5913, 2.3037), (2.8769, -3.1427, 1.2046), (2.8366, -3.0525, 1.2012)))


@triton.jit
def sum_squares_kernel(g, total, size, BLOCK: tl.constexpr, LOOP: tl.constexpr):
    """total[b] += squares of LOOP blocks of matrix b."""
    cuda.gdc_launch_dependents()
    b = tl.program_id(1)
    g += b.to(tl.int64) * size
    acc = tl.zeros((BLOCK, ), tl.float32)
    for l in range(LOOP):
        i = (tl.program_id(0) * LOOP + l) * BLOCK + tl.arange(0, BLOCK)
        x = tl.load(g + i, mask=i < size, other=0).to(tl.float32)
        acc += x * x
    tl.atomic_add(total + b, tl.sum(acc))


@triton.jit
def this_matrix(backward):
    """The stack is walked to and fro, so that a launch begins with what the last one left in L2."""
    b = tl.program_id(1)
    return b + backward * (tl.num_programs(1) - 1 - 2 * b)


@triton.jit
def triangle_row(t):
    """Row of element t of a lower triangle that is counted row by row."""
    i = ((tl.sqrt(8.0 * t + 1.0) - 1.0) * 0.5).to(tl.int32)
    i = tl.where(i * (i + 1) // 2 > t, i - 1, i)
    return tl.where((i + 1) * (i + 2) // 2 <= t, i + 1, i)


@triton.autotune([
    triton.Config({"BM": 128, "BN": 128}, num_warps=4, num_stages=3),
    triton.Config({"BM": 128, "BN": 128}, num_warps=8, num_stages=3),
    triton.Config({"BM": 128, "BN": 128}, num_warps=8, num_stages=4),
    triton.Config({"BM": 128, "BN": 128}, num_warps=8, num_stages=6),
    triton.Config({"BM": 128, "BN": 256}, num_warps=8, num_stages=3),
    triton.Config({"BM": 128, "BN": 256}, num_warps=8, num_stages=4),
], key=["n", "k_size", "X_ACROSS", "Y_ACROSS", "AFFINE"])
@triton.jit(do_not_specialize=["backward"])
def symmetric_kernel(x, y, y2, e, e2, c, c2, ct2, total, n, k_size, beta, gamma, delta, backward,  #
                     X_ACROSS: tl.constexpr, Y_ACROSS: tl.constexpr, AFFINE: tl.constexpr, NORM: tl.constexpr,  #
                     BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """C = X Y or, AFFINE, delta X Y + beta E + gamma I; C is symmetric, its tiles on and below the diagonal are made.

    X_ACROSS, Y_ACROSS: the operand lies transposed. NORM: divided by total[b]. Tiles are BM x BN with BN = W BM; a row
    of the triangle of tiles is W rows of tiles of the matrix.
    """
    W: tl.constexpr = BN // BM
    if W == 2:
        y, e, c, ct = y2, e2, c2, ct2
    else:
        ct = c
    t, b = tl.program_id(0), this_matrix(backward)
    g = triangle_row(t // W)
    t -= W * (g * (g + 1) // 2)
    j = t // W
    row, col = (W * g + t % W) * BM, j * BN
    cuda.gdc_launch_dependents()
    cuda.gdc_wait()
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, k_size, BK):
        if X_ACROSS:
            left = x.load([b, k, row]).reshape(BK, BM).T
        else:
            left = x.load([b, row, k]).reshape(BM, BK)
        if Y_ACROSS:
            right = y.load([b, col, k]).reshape(BN, BK).T
        else:
            right = y.load([b, k, col]).reshape(BK, BN)
        acc = tl.dot(left, right, acc)
    if NORM:
        norm = tl.sqrt(tl.load(total + b)) + 1e-7
        acc *= 1 / (norm * norm)
    if AFFINE:
        acc = delta * acc + beta * e.load([b, row, col]).reshape(BM, BN).to(tl.float32)
        on_diagonal = (row + tl.arange(0, BM))[:, None] == (col + tl.arange(0, BN))[None, :]
        acc = tl.where(on_diagonal, acc + gamma, acc)
    out = acc.to(c.dtype)
    c.store([b, row, col], out.reshape(1, BM, BN))
    if g != j:
        ct.store([b, col, row], out.T.reshape(1, BN, BM))


@triton.autotune([
    triton.Config({"BM": 128, "BN": 128, "GROUP": 8}, num_warps=4, num_stages=3),
    triton.Config({"BM": 128, "BN": 128, "GROUP": 8}, num_warps=8, num_stages=4),
    triton.Config({"BM": 128, "BN": 256, "GROUP": 8}, num_warps=8, num_stages=3),
    triton.Config({"BM": 128, "BN": 256, "GROUP": 4}, num_warps=8, num_stages=4),
    triton.Config({"BM": 128, "BN": 256, "GROUP": 8}, num_warps=8, num_stages=4),
    triton.Config({"BM": 128, "BN": 256, "GROUP": 16}, num_warps=8, num_stages=4),
], key=["m_size", "n_size", "k_size", "NORM"])
@triton.jit(do_not_specialize=["backward"])
def apply_kernel(x, y, y2, c, c2, total, m_size, n_size, k_size, backward, NORM: tl.constexpr,  #
                 BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr):
    """C = X Y. NORM: divided by the root of total[b]."""
    if BN == 256:
        y, c = y2, c2
    t, b = tl.program_id(0), this_matrix(backward)
    wide = GROUP * tl.cdiv(n_size, BN)
    first = t // wide * GROUP
    rows = min(tl.cdiv(m_size, BM) - first, GROUP)
    row, col = (first + t % wide % rows) * BM, t % wide // rows * BN
    cuda.gdc_launch_dependents()
    cuda.gdc_wait()
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, k_size, BK):
        acc = tl.dot(x.load([b, row, k]).reshape(BM, BK), y.load([b, k, col]).reshape(BK, BN), acc)
    if NORM:
        acc *= 1 / (tl.sqrt(tl.load(total + b)) + 1e-7)
    c.store([b, row, col], acc.to(c.dtype).reshape(1, BM, BN))


def tiles(tensor, rows, cols):
    return TensorDescriptor.from_tensor(tensor, [1, rows, cols])


class Chain:
    """Launches in a row; each may start up while the one before it ends, and walks the stack the other way."""

    def __init__(self, n, batch, total):
        self.n, self.batch, self.total, self.backward = n, batch, total, 0

    def common(self):
        self.backward ^= 1
        return dict(backward=self.backward, BK=64, launch_pdl=True)

    def symmetric(self, x, y, c, x_across=False, y_across=False, affine=(0, 0, 0), e=None, norm=False):
        """c = x y, x^T y or x y^T; with e, affine = gamma, beta, delta makes it delta x y + beta e + gamma I."""
        gamma, beta, delta = affine

        def box(t, extent, across):
            return tiles(t, 64, extent) if across else tiles(t, extent, 64)

        def grid(meta):
            w, rows = meta["BN"] // meta["BM"], d2k.cdiv(self.n, meta["BN"])
            return w * rows * (rows + 1) // 2, self.batch

        added = c if e is None else e
        symmetric_kernel[grid](box(x, 128, x_across), box(y, 128, not y_across), box(y, 256, not y_across),
                               tiles(added, 128, 128), tiles(added, 128, 256), tiles(c, 128, 128), tiles(c, 128, 256),
                               tiles(c, 256, 128), self.total, self.n, x.shape[1 if x_across else 2], beta, gamma,
                               delta, X_ACROSS=x_across, Y_ACROSS=y_across, AFFINE=e is not None, NORM=norm,
                               **self.common())

    def apply(self, x, y, c, norm):
        """c = x y."""
        m_size, n_size = c.shape[1:]

        def grid(meta):
            return d2k.cdiv(m_size, meta["BM"]) * d2k.cdiv(n_size, meta["BN"]), self.batch

        apply_kernel[grid](tiles(x, 128, 64), tiles(y, 64, 128), tiles(y, 64, 256), tiles(c, 128, 128),
                           tiles(c, 128, 256), self.total, m_size, n_size, x.shape[2], NORM=norm, **self.common())


def run(G, O):
    batch, rows, cols = G.shape
    n, tall = min(rows, cols), rows > cols
    total = d2k.zeros((batch, ), d2k.float32)
    sum_squares_kernel[(d2k.cdiv(rows * cols, 8 * 4096), batch)](G, total, rows * cols, BLOCK=4096, LOOP=8, num_warps=8)

    def square(dtype=d2k.float16):
        return d2k.empty((batch, n, n), dtype)

    chain = Chain(n, batch, total)
    X, R, T = d2k.empty(G.shape, d2k.float16), square(), square()
    for source, steps, target in zip((G, X), SEGMENTS, (X, O)):
        norm = source is G
        chain.symmetric(source, source, R, x_across=tall, y_across=not tall, norm=norm)
        product = None  # of the segment's factors; the last one has the type of what it is applied to
        for i, step in enumerate(steps):
            last = i == len(steps) - 1
            factor = square()
            chain.symmetric(R, R, factor, affine=step, e=R)
            if not last:
                chain.symmetric(R, factor, T)
                chain.symmetric(T, factor, R)
            if product is None:
                product = factor
            else:
                longer = square(source.dtype if last else d2k.float16)
                chain.symmetric(product, factor, longer)
                product = longer
        chain.apply(source if tall else product, product if tall else source, target, norm)
