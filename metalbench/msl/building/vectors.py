"""Kernels as vectors: the LLVM IR of one lane, and of each shape of launch a shared object."""

from __future__ import annotations

from pathlib import Path

from metalbench._core import CompileError
from metalbench.msl.building import cache
from metalbench.msl.building.answer import TooSlowError
from metalbench.msl.building.compiler import MessageTranslator, assemble, generate_ir
from metalbench.msl.building.effort import LARGEST_LANE, OPTIMISING_S
from metalbench.msl.building.frames import check_stack_usage
from metalbench.msl.building.passes import list_disabled_passes
from metalbench.msl.building.toolchain import (
    LANE_FLAGS,
    VECTOR_FLAGS,
    Toolchain,
    find_toolchain,
    list_flags,
)
from metalbench.msl.building.undefined import unknown
from metalbench.msl.emission.body import LaunchShape
from metalbench.msl.emission.markers import SIMD_WIDTH
from metalbench.msl.emission.vectorise import vectorize_module
from metalbench.msl.ir.module import Module
from metalbench.msl.ir.text import IrError
from metalbench.msl.rewriting.edits import TranslationUnit
from metalbench.msl.rewriting.leaving import NO_UNROLL_MACRO

# The function of one lane, by the beginning of its name.
_LANE = "mb_vector_source"
# Functions of a SIMD-group as a whole: its lanes may not be run in parts.
_COLLECTIVE = tuple(
    f"mb_vector_{each}"
    for each in (
        *("lane", "ballot", "shuffle", "first", "sum", "product", "min", "max", "and", "or", "xor"),
        *("inclusive", "exclusive"),
    )
)
_OWN_SYMBOL, _MATRIX = "_ZN2mbL", "matrix_"
_NARROWER = (16, 8)


def lane_of(
    code: TranslationUnit,
    tools: Toolchain,
    translate: MessageTranslator,
    *,
    fast_math: bool,
    spaces: bool,
) -> Path:
    """The file in the cache that has the kernel of one lane as IR.

    Raises CompileError, IrError where LLVM's passes take too long.
    """
    options = lane_flags(code, fast_math=fast_math, spaces=spaces)
    key = cache.digest("lane", tools.key, repr(options), code.text)
    target = cache.locate_file(key, ".ll")
    if not target.exists():
        try:
            text = generate_ir(code, tools, options, translate, processor_s=OPTIMISING_S)
        except TooSlowError:
            raise IrError(
                f"LLVM's passes took more than {OPTIMISING_S} s of processor time for one thread"
            ) from None
        with cache.write_atomically(target) as path:
            path.write_text(text)
    return target


def check_size(lane: Path) -> None:
    """Raise IrError for a kernel that is too large to be written for all lanes at once."""
    functions = Module(lane.read_text()).functions
    found = next((each for name, each in functions.items() if name.startswith(_LANE)), None)
    if found is None:
        raise IrError(f"the module does not define {_LANE}")
    count = found.length
    if count > LARGEST_LANE:
        raise IrError(f"{count} instructions of one thread, more than {LARGEST_LANE}")


def lane_flags(code: TranslationUnit, *, fast_math: bool, spaces: bool = False) -> list[str]:
    """What clang is told for the kernel of one lane."""
    # LLVM may lose what such a loop says of itself, where it leaves a condition of it out.
    passes = [*LANE_FLAGS, *(["-fno-unroll-loops"] if NO_UNROLL_MACRO in code.text else [])]
    return list_flags(checked=False, fast_math=fast_math, spaces=spaces, passes=passes)


def widths_of(lane: Path) -> tuple[int, ...]:
    """How many lanes along x one call may run, the most first."""
    functions = Module(lane.read_text()).functions.values()
    if any(_is_collective(called) for function in functions for called in function.callees):
        return (SIMD_WIDTH,)
    return (SIMD_WIDTH, *_NARROWER)


def _is_collective(function: str) -> bool:
    is_matrix = function.removeprefix(_OWN_SYMBOL).lstrip("0123456789").startswith(_MATRIX)
    return function.startswith(_COLLECTIVE) or (function.startswith(_OWN_SYMBOL) and is_matrix)


def entry_of(lane: Path, launch: LaunchShape, kernel: str, *, fast_math: bool) -> Path:
    """The shared object for launches of a shape, compiled if nobody has yet.

    Raises IrError for what cannot be written as vectors, or takes more of a stack than there is.
    """
    tools = find_toolchain()
    options = list_flags(checked=False, fast_math=fast_math, passes=VECTOR_FLAGS)
    key = cache.digest("vectors", tools.key, repr(options), lane.name, str(launch))
    target = cache.locate_file(key, ".so")
    if target.exists():
        return target
    module = vectorize_module(lane.read_text(), launch)
    options += list_disabled_passes(tools)
    with cache.write_atomically(target) as path:
        try:
            frames = assemble(module, path, tools, MessageTranslator(linker=unknown), options)
            check_stack_usage(frames, kernel, tools.headers, together=True)
        except CompileError as error:
            raise IrError(str(error)) from error
        if tools.target.debug_in_object:
            path.with_suffix(".o").replace(target.with_suffix(".o"))
    return target
