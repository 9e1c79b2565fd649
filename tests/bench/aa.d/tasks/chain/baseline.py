"""K multiply-adds on each element, four elements a thread: bound by arithmetic. EXTRA as in the task rows."""
import triton
import triton.language as tl

EXTRA = 0


@triton.jit
def wait(steps, first_programs, seed):
    """0, after that many dependent multiply-adds in the programs that start first. No compiler can know that it is."""
    n = tl.where(tl.program_id(0) < first_programs, steps, 0)
    v = seed
    for _ in range(n):
        v = v * 0.75 + 1.0
    return (v == -1.0).to(tl.int32)


@triton.jit(do_not_specialize=["steps"])
def chain_kernel(x, y, K, c, d, steps, first_programs, seed, BLOCK: tl.constexpr):
    i = (tl.program_id(0) + wait(steps, first_programs, seed)) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i)
    for _ in range(K):
        v = v * c + d
    tl.store(y + i, v)


def run(x, y, *, K, c, d, extra_steps):
    N, = x.shape
    # every program waits: were it the first, those that follow would only catch up
    programs = N // 1024
    chain_kernel[(programs, )](x, y, K, c, d, 4 + round(EXTRA * extra_steps), programs, 0.5, BLOCK=1024, num_warps=8)
