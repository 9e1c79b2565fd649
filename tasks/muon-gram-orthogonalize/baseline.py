"""The text as it stands: five Newton-Schulz steps on the normalised matrices, three batched matrix products each.

A = X X^T, B = b A + c A A, X = a X + B X, all in bfloat16 with float32 accumulation; the sums are made where the
products end. Tall matrices are transposed when they are normalised, and once more when the result is written.
"""
import triton
import triton.language as tl
import d2k

COEFFICIENTS = ((4.0848, -6.8946, 2.9270), (3.9505, -6.3029, 2.6377), (3.7418, -5.5913, 2.3037),
                (2.8769, -3.1427, 1.2046), (2.8366, -3.0525, 1.2012))


@triton.jit
def sum_squares_kernel(g, partial, size, BLOCK: tl.constexpr, LOOP: tl.constexpr):
    """partial[b, p] = sum of squares of the p-th LOOP blocks of matrix b."""
    p, b = tl.program_id(0), tl.program_id(1)
    g += b.to(tl.int64) * size
    acc = tl.zeros((BLOCK, ), tl.float32)
    for l in range(LOOP):
        i = (p * LOOP + l) * BLOCK + tl.arange(0, BLOCK)
        x = tl.load(g + i, mask=i < size, other=0).to(tl.float32)
        acc += x * x
    tl.store(partial + b * tl.num_programs(0) + p, tl.sum(acc))


@triton.jit
def normalise_kernel(g, partial, x, parts, n, m, stride_n, stride_m, PARTS: tl.constexpr, BLOCK: tl.constexpr):
    """x[b, i, j] = g[b] at i * stride_n + j * stride_m, over the norm of g[b]."""
    b = tl.program_id(2)
    p = tl.arange(0, PARTS)
    norm = tl.sqrt(tl.sum(tl.load(partial + b * parts + p, mask=p < parts, other=0))) + 1e-7
    i = (tl.program_id(1) * BLOCK + tl.arange(0, BLOCK))[:, None]
    j = (tl.program_id(0) * BLOCK + tl.arange(0, BLOCK))[None, :]
    inside = (i < n) & (j < m)
    start = b.to(tl.int64) * n * m
    v = tl.load(g + start + i * stride_n + j * stride_m, mask=inside).to(tl.float32)
    tl.store(x + start + i * m + j, (v / norm).to(x.dtype.element_ty), mask=inside)


@triton.autotune([
    triton.Config({"BM": 128, "BN": 256, "BK": 64}, num_warps=8, num_stages=3),
    triton.Config({"BM": 128, "BN": 256, "BK": 64}, num_warps=8, num_stages=4),
], key=["m_size", "n_size", "k_size"])
@triton.jit
def product_kernel(x, y, e, c, m_size, n_size, k_size, alpha, beta,  #
                   TRANSPOSED: tl.constexpr, ADD: tl.constexpr, FLIP: tl.constexpr,  #
                   BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr):
    """C = X Y or, with ADD, C = alpha X Y + beta E, for every matrix of the stack.

    TRANSPOSED: Y is stored as its transpose. FLIP: C is stored as its transpose.
    """
    t, b = tl.program_id(0), tl.program_id(1).to(tl.int64)
    wide = GROUP * tl.cdiv(n_size, BN)
    first = t // wide * GROUP
    rows = min(tl.cdiv(m_size, BM) - first, GROUP)
    row, col = (first + t % wide % rows) * BM, t % wide // rows * BN
    xs = tl.make_tensor_descriptor(x + b * m_size * k_size, [m_size, k_size], [k_size, 1], [BM, BK])
    if TRANSPOSED:
        ys = tl.make_tensor_descriptor(y + b * n_size * k_size, [n_size, k_size], [k_size, 1], [BN, BK])
    else:
        ys = tl.make_tensor_descriptor(y + b * n_size * k_size, [k_size, n_size], [n_size, 1], [BK, BN])
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, k_size, BK):
        if TRANSPOSED:
            acc = tl.dot(xs.load([row, k]), ys.load([col, k]).T, acc)
        else:
            acc = tl.dot(xs.load([row, k]), ys.load([k, col]), acc)
    if ADD:
        es = tl.make_tensor_descriptor(e + b * m_size * n_size, [m_size, n_size], [n_size, 1], [BM, BN])
        acc = alpha * acc + beta * es.load([row, col]).to(tl.float32)
    out = acc.to(c.dtype.element_ty)
    if FLIP:
        cs = tl.make_tensor_descriptor(c + b * m_size * n_size, [n_size, m_size], [m_size, 1], [BN, BM])
        cs.store([col, row], out.T)
    else:
        cs = tl.make_tensor_descriptor(c + b * m_size * n_size, [m_size, n_size], [n_size, 1], [BM, BN])
        cs.store([row, col], out)


def product(x, y, c, transposed=False, e=None, alpha=1.0, beta=0.0, flip=False):
    batch, m_size, k_size = x.shape
    n_size = y.shape[1 if transposed else 2]

    def grid(meta):
        return d2k.cdiv(m_size, meta["BM"]) * d2k.cdiv(n_size, meta["BN"]), batch

    product_kernel[grid](x, y, e, c, m_size, n_size, k_size, alpha, beta, TRANSPOSED=transposed, ADD=e is not None,
                         FLIP=flip, GROUP=8)


def run(G, O):
    batch, rows, cols = G.shape
    n, m = min(rows, cols), max(rows, cols)
    strides = (cols, 1) if rows <= cols else (1, cols)  # of the short and the long side
    parts = d2k.cdiv(n * m, 16 * 4096)
    partial = d2k.empty((batch, parts), d2k.float32)
    sum_squares_kernel[(parts, batch)](G, partial, n * m, BLOCK=4096, LOOP=16, num_warps=8)
    X, Y = (d2k.empty((batch, n, m), G.dtype) for _ in range(2))
    A, B = (d2k.empty((batch, n, n), G.dtype) for _ in range(2))
    normalise_kernel[(d2k.cdiv(m, 64), d2k.cdiv(n, 64), batch)](G, partial, X, parts, n, m, *strides,
                                                                PARTS=d2k.next_power_of_2(parts), BLOCK=64)
    for step, (a, b, c) in enumerate(COEFFICIENTS):
        product(X, X, A, transposed=True)
        product(A, A, B, e=A, alpha=c, beta=b)
        if step < len(COEFFICIENTS) - 1:
            product(B, X, Y, e=X, alpha=1.0, beta=a)
            X, Y = Y, X
        else:
            product(B, X, O, e=X, alpha=1.0, beta=a, flip=rows > cols)
