"""Two kernels, one for each output: each reads gate and up, computes h, scales its blocks and writes its codes."""
import triton
import triton.language as tl


@triton.jit
def swiglu(row, F, f):
    g = tl.load(row + f).to(tl.float32)
    u = tl.load(row + F + f).to(tl.float32)
    return g * tl.sigmoid(g) * u


@triton.autotune(configs=[triton.Config({"ROWS": r}, num_warps=w) for r, w in ((16, 4), (32, 4), (64, 8))],
                 key=["M", "F"])
@triton.jit
def quantise_rows(gu, q, sr, M, F, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    block = tl.program_id(0)
    m = (tl.program_id(1) * ROWS + tl.arange(0, ROWS)).to(tl.int64)
    f = block * BLOCK + tl.arange(0, BLOCK)
    h = swiglu(gu + m[:, None] * 2 * F, F, f[None, :])
    scale = tl.maximum(tl.max(tl.abs(h), axis=1), 1e-4) / 448.0
    tl.store(q + m[:, None] * F + f[None, :], (h / scale[:, None]).to(tl.float8e4nv))
    tl.store(sr + m * (F // BLOCK) + block, scale)


@triton.autotune(configs=[triton.Config({"COLS": c}, num_warps=w) for c, w in ((32, 4), (64, 4), (64, 8))],
                 key=["M", "F"])
@triton.jit
def quantise_columns(gu, qt, sc, M, F, COLS: tl.constexpr, BLOCK: tl.constexpr):
    block = tl.program_id(1)
    m = block * BLOCK + tl.arange(0, BLOCK)
    f = tl.program_id(0) * COLS + tl.arange(0, COLS)
    h = swiglu(gu + m[:, None].to(tl.int64) * 2 * F, F, f[None, :])
    scale = tl.maximum(tl.max(tl.abs(h), axis=0), 1e-4) / 448.0
    codes = (h / scale[None, :]).to(tl.float8e4nv)
    tl.store(qt + f[:, None].to(tl.int64) * M + m[None, :], tl.trans(codes))
    tl.store(sc + f.to(tl.int64) * (M // BLOCK) + block, scale)


def run(gu, q, sr, qt, sc):
    M, F = q.shape
    quantise_rows[lambda c: (F // 128, triton.cdiv(M, c["ROWS"]))](gu, q, sr, M, F, BLOCK=128)
    quantise_columns[lambda c: (triton.cdiv(F, c["COLS"]), M // 128)](gu, qt, sc, M, F, BLOCK=128)
