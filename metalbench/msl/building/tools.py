"""What checked builds are instrumented with: always what is cheap, the rest for tools that ask."""

from __future__ import annotations

from collections.abc import Iterable

from metalbench._core import CompileError
from metalbench.msl.building.targets import Target

TOOLS = ("mem", "race", "init", "sync", "arithmetic")

# Copies of a whole struct, such as a float4 that does not pass through registers, are no loads and
# stores to the coverage pass; AddressSanitizer's pass turns them, and only them, into calls.
_CHECKED = (
    "-O1",
    "-fno-vectorize",
    "-fno-slp-vectorize",
    "-DMB_CHECKED=1",
    # What led to a fault is read off the stack.
    "-fno-omit-frame-pointer",
    "-fsanitize=alignment,array-bounds,integer-divide-by-zero",
    # The last member of a struct is as long as it says.
    "-fstrict-flex-arrays=3",
    # What is done through a null pointer is done, and so is seen.
    "-fno-delete-null-pointer-checks",
    # Messages name variables.
    "-fno-discard-value-names",
    # The check that fails is known by where it is called.
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
# Where variables of a thread are followed by others, or by nothing, zones between them. Clang
# tells which they are: its shadow is not where it takes it for.
_ZONES = (
    "-DMB_ZONES=1",
    "-mllvm",
    "-asan-stack=1",
    "-mllvm",
    "-asan-max-inline-poisoning-size=0",
    "-mllvm",
    "-asan-mapping-offset=0",
)
# What Metal defines, and hardly anybody means.
_ARITHMETIC = ("-fsanitize=shift-exponent,float-cast-overflow,signed-integer-overflow",)


def check_tools(tools: Iterable[str]) -> tuple[str, ...]:
    """The tools among these names, in one order. Raises CompileError for others."""
    named = set(tools)
    if unknown := sorted(named - set(TOOLS)):
        raise CompileError(
            f"tools: expected some of {', '.join(TOOLS)}, got {', '.join(map(repr, unknown))}"
        )
    return tuple(each for each in TOOLS if each in named)


def list_checked_flags(goal: Target, tools: Iterable[str]) -> list[str]:
    """The compiler's flags of a checked build that these tools need."""
    arithmetic = _ARITHMETIC if "arithmetic" in tools else ()
    zones = _ZONES if "mem" in tools else ("-mllvm", "-asan-stack=0")
    return [*goal.kernel_address, *_CHECKED, *zones, *arithmetic]
