"""Flags of checked builds: cheap checks always, expensive ones for the tools that need them."""

from __future__ import annotations

from collections.abc import Iterable

from metalbench._core import CompileError
from metalbench.msl.building.targets import Target

TOOLS = ("mem", "race", "init", "sync", "arithmetic")

# The coverage pass does not trace copies of a whole struct, such as a float4 in memory.
# AddressSanitizer's pass, with these flags, turns these copies, and nothing else, into calls.
_CHECKED_FLAGS = (
    "-O1",
    "-fno-vectorize",
    "-fno-slp-vectorize",
    "-DMB_CHECKED=1",
    # The runtime reads the call stack of a fault.
    "-fno-omit-frame-pointer",
    "-fsanitize=alignment,array-bounds,integer-divide-by-zero",
    # The last array of a struct has its declared length.
    "-fstrict-flex-arrays=3",
    # Accesses through a null pointer are executed, and so are reported.
    "-fno-delete-null-pointer-checks",
    # Messages contain the names of variables.
    "-fno-discard-value-names",
    # The return address identifies the failed check.
    "-fno-optimize-sibling-calls",
    "-mllvm",
    "-enable-tail-merge=false",
    "-fsanitize-coverage=trace-loads,trace-stores,bb,trace-pc-guard",
    "-mllvm",
    "-asan-kernel-mem-intrinsic-prefix=1",
    "-mllvm",
    "-asan-globals=0",
    "-mllvm",
    "-asan-instrument-reads=0",
    "-mllvm",
    "-asan-instrument-writes=0",
    "-mllvm",
    "-asan-instrument-atomics=0",
    "-mllvm",
    "-asan-instrument-byval=0",
)
# Redzones after private variables. Clang reports them by calls: the engine's shadow memory is not
# at AddressSanitizer's offset.
_REDZONE_FLAGS = (
    "-DMB_ZONES=1",
    "-mllvm",
    "-asan-stack=1",
    "-mllvm",
    "-asan-max-inline-poisoning-size=0",
    "-mllvm",
    "-asan-mapping-offset=0",
)
# Operations that Metal defines but that are rarely intended.
_ARITHMETIC_FLAGS = ("-fsanitize=shift-exponent,float-cast-overflow,signed-integer-overflow",)


def check_tools(tools: Iterable[str]) -> tuple[str, ...]:
    """Return these tools in a fixed order. Raise CompileError for unknown names."""
    named = set(tools)
    if unknown := sorted(named - set(TOOLS)):
        raise CompileError(
            f"tools: expected some of {', '.join(TOOLS)}, got {', '.join(map(repr, unknown))}"
        )
    return tuple(each for each in TOOLS if each in named)


def list_checked_flags(goal: Target, tools: Iterable[str]) -> list[str]:
    """Return the compiler's flags of a checked build with these tools."""
    arithmetic = _ARITHMETIC_FLAGS if "arithmetic" in tools else ()
    zones = _REDZONE_FLAGS if "mem" in tools else ("-mllvm", "-asan-stack=0")
    return [*goal.kernel_address, *_CHECKED_FLAGS, *zones, *arithmetic]
