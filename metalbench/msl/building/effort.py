"""Limit clang's processor time for one kernel by reducing optimisations.

Some of LLVM's passes take quadratic time in a basic block's length (instruction selection, register
allocation, address sinking). The loop vectoriser asks whether a value is uniform without caching
the answer, which takes exponential time for a chain such as `b = b < v ? v : b` (LLVM 22, VPlan).
Large code, and code whose optimisation exceeds a time limit, is compiled with passes of linear
time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from metalbench.msl.building.answer import TooSlowError
from metalbench.msl.ir.module import Module

Result = TypeVar("Result")

# Lines of unoptimised LLVM IR of one function and of a module. All kernels of this package have
# less than a tenth of them.
LARGEST_FUNCTION = 20_000
LARGEST_MODULE = 60_000
# Instructions of one lane after optimisation. The vectorised module has several for each.
LARGEST_LANE = 4_000
# Processor time of a run of clang with all passes. The slowest known kernels take 5 s.
OPTIMISING_S = 10
REDUCED = [
    "-O1",
    "-fno-vectorize",
    "-fno-slp-vectorize",
    "-fno-unroll-loops",
    "-mllvm",
    "-fast-isel",
    "-mllvm",
    "-optimize-regalloc=0",
]
# NVPTX has neither fast instruction selection nor register allocation.
REDUCED_FOR_GPU = ["-O1", "-fno-vectorize", "-fno-slp-vectorize", "-fno-unroll-loops"]
# Loop metadata that requests vectorisation overrides -fno-vectorize.
_FORCED = '!"llvm.loop.vectorize.enable", i1 true'
_FORBIDDEN = '!"llvm.loop.vectorize.enable", i1 false'


def explain_reduction(ir: str) -> str:
    """Return why a module is too large for all of LLVM's passes, or an empty string."""
    lines = ir.count("\n")
    if lines > LARGEST_MODULE:
        return f"{lines} lines of LLVM IR, more than {LARGEST_MODULE}"
    if lines > LARGEST_FUNCTION:
        functions = Module(ir).functions.values()
        longest = max((str(each).count("\n") for each in functions), default=0)
        if longest > LARGEST_FUNCTION:
            return f"a function of {longest} lines of LLVM IR, more than {LARGEST_FUNCTION}"
    return ""


def run_with_time_limit(
    run: Callable[[str, Sequence[str], int | None], Result],
    ir: str,
    options: Sequence[str],
    reasons: list[str],
    reduced: Sequence[str] = REDUCED,
) -> Result:
    """Return the result of `run` for a module, with flags of clang and a limit of processor time.

    Flags are reduced for a module that is too large, and for one that exceeds the limit. The reason
    is appended to `reasons`. Raise as `run` does.
    """
    why = explain_reduction(ir)
    if not why:
        try:
            return run(ir, options, OPTIMISING_S)
        except TooSlowError:
            why = f"LLVM's passes took more than {OPTIMISING_S} s of processor time"
    reasons.append(f"compiled with few optimisations: {why}")
    return run(ir.replace(_FORCED, _FORBIDDEN), [*options, *reduced], None)
