"""Every row over its root mean square, in the shapes that a plan can have. Bound by memory, or by the launch.

EXTRA makes a call longer by about so many hundredths; with 0 the very same kernels run. Short ones wait: the programs that
a launch starts with do so at their beginning, all of them, so whatever happens then happens that much later. They wait
for a few steps in any case: what the loop costs at all is then no part of the difference. Waiting for so short that memory
only catches up with what was written before costs long ones nothing; they go over some rows twice.
"""
import triton
import triton.language as tl
import d2k

EXTRA = 0


@triton.jit
def wait(steps, first_programs, seed):
    """0, after that many dependent multiply-adds in the programs that start first. No compiler can know that it is."""
    n = tl.where(tl.program_id(0) < first_programs, steps, 0)
    v = seed
    for _ in range(n):
        v = v * 0.75 + 1.0
    return (v == -1.0).to(tl.int32)


@triton.jit
def inverse_root(sum_of_squares, N):
    return 1 / tl.sqrt(sum_of_squares / N + 1e-6)


@triton.jit(do_not_specialize=["steps"])
def row_kernel(x, w, y, M, N, steps, first_programs, seed, BLOCK: tl.constexpr):
    row = ((tl.program_id(0) + wait(steps, first_programs, seed)) % M).to(tl.int64)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * N + i).to(tl.float32)
    v *= inverse_root(tl.sum(v * v), N)
    tl.store(y + row * N + i, (v * tl.load(w + i).to(tl.float32)).to(tl.bfloat16))


# the second is far slower: which one is chosen must not depend on the run
@triton.autotune([triton.Config({"BLOCK": 2048}, num_warps=8), triton.Config({"BLOCK": 32}, num_warps=1)], key=["N"])
@triton.jit(do_not_specialize=["steps"])
def tuned_kernel(x, w, y, M, N, steps, first_programs, seed, BLOCK: tl.constexpr):
    row = ((tl.program_id(0) + wait(steps, first_programs, seed)) % M).to(tl.int64)
    i = tl.arange(0, BLOCK)
    squares = tl.zeros((BLOCK, ), tl.float32)
    for start in range(0, N, BLOCK):
        v = tl.load(x + row * N + start + i).to(tl.float32)
        squares += v * v
    inverse = inverse_root(tl.sum(squares), N)
    for start in range(0, N, BLOCK):
        v = tl.load(x + row * N + start + i).to(tl.float32) * inverse
        tl.store(y + row * N + start + i, (v * tl.load(w + start + i).to(tl.float32)).to(tl.bfloat16))


@triton.jit(do_not_specialize=["steps"])
def squares_kernel(x, sums, N, steps, first_programs, seed, BLOCK: tl.constexpr, ATOMIC: tl.constexpr):
    """The sum of squares of a block of a row: stored, or added to the row's."""
    block = tl.program_id(0) + wait(steps, first_programs, seed)
    v = tl.load(x + block.to(tl.int64) * BLOCK + tl.arange(0, BLOCK)).to(tl.float32)
    if ATOMIC:
        tl.atomic_add(sums + block // (N // BLOCK), tl.sum(v * v))
    else:
        tl.store(sums + block, tl.sum(v * v))


@triton.jit
def gather_kernel(parts, sums, PARTS: tl.constexpr):
    row = tl.program_id(0)
    tl.store(sums + row, tl.sum(tl.load(parts + row * PARTS + tl.arange(0, PARTS))))


@triton.jit
def scale_kernel(x, w, y, sums, N, BLOCK: tl.constexpr):
    block, i = tl.program_id(0), tl.arange(0, BLOCK)
    row, start = block // (N // BLOCK), block % (N // BLOCK) * BLOCK
    inverse = inverse_root(tl.load(sums + row), N)
    v = tl.load(x + row.to(tl.int64) * N + start + i).to(tl.float32) * inverse
    tl.store(y + row.to(tl.int64) * N + start + i, (v * tl.load(w + start + i).to(tl.float32)).to(tl.bfloat16))


def run(x, w, y, *, way, extra_steps, extra_rows):
    M, N = x.shape
    programs = M + EXTRA * extra_rows
    blocks = M * N // 1024
    wait_for = 4 + round(EXTRA * extra_steps), d2k.num_sms() * 8, 0.5  # 8 programs of 8 warps fill an SM
    if way == 0:
        row_kernel[(programs, )](x, w, y, M, N, *wait_for, BLOCK=N, num_warps=8)
    elif way == 1:
        tuned_kernel[(programs, )](x, w, y, M, N, *wait_for)
    elif way == 2:
        parts, sums = d2k.empty((blocks, ), d2k.float32), d2k.empty((M, ), d2k.float32)
        squares_kernel[(blocks, )](x, parts, N, *wait_for, BLOCK=1024, ATOMIC=False, num_warps=8)
        gather_kernel[(M, )](parts, sums, PARTS=N // 1024, num_warps=1)
        scale_kernel[(blocks, )](x, w, y, sums, N, BLOCK=1024, num_warps=8)
    else:
        sums = d2k.zeros((M, ), d2k.float32)
        squares_kernel[(blocks, )](x, sums, N, *wait_for, BLOCK=1024, ATOMIC=True, num_warps=8)
        scale_kernel[(blocks, )](x, w, y, sums, N, BLOCK=1024, num_warps=8)
