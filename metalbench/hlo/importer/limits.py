"""Limit the nesting of regions: MLIR's parser and our passes recurse, and a stack is finite.

MLIR's text parser overflows 8 MB of stack between 2000 and 5000 nested regions, which ends the
process. Python's recursion limit of 1000 frames is reached between 100 and 300 regions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from metalbench.errors import Unsupported
from metalbench.hlo.importer.graph import format_location

MAX_REGIONS = 64
# The generic form of MLIR uses two brackets for each region.
MAX_BRACKETS = 512
# Text in which brackets do not nest: strings, comments, arrows and comparison operators.
_OPAQUE = re.compile(rb'"(?:[^"\\\n]|\\.)*"|//[^\n]*|->|>=|<=')
_STEPS = np.zeros(256, np.int8)
_STEPS[list(b"([{<")] = 1
_STEPS[list(b")]}>")] = -1


def check_brackets(text: str | bytes, filename: str) -> None:
    """Raise Unsupported if a text has more nested brackets than MLIR's parser can take."""
    code = text.encode() if isinstance(text, str) else text
    # Remove the opaque parts only if they may matter: a text may have megabytes of constants.
    if _measure_depth(code) <= MAX_BRACKETS:
        return
    depth = _measure_depth(_OPAQUE.sub(b"", code))
    if depth > MAX_BRACKETS:
        raise Unsupported(
            f"{filename}: expected at most {MAX_BRACKETS} nested brackets, got {depth}; "
            "move inner regions into separate functions or flatten them"
        )


def _measure_depth(code: bytes) -> int:
    """Return the largest depth of nested brackets, even if some closing brackets are unmatched."""
    steps = _STEPS[np.frombuffer(code, np.uint8)]
    steps = steps[steps != 0]
    if not steps.size:
        return 0
    levels = np.cumsum(steps, dtype=np.int64)
    return int((levels - np.minimum(np.minimum.accumulate(levels), 0)).max())


def iterate_operations(operation: Any) -> Iterator[Any]:
    """Iterate over all operations inside an operation, outer ones first."""
    return (each for each, _ in iterate_with_depth(operation))


def iterate_with_depth(operation: Any) -> Iterator[tuple[Any, int]]:
    """Yield all operations inside an operation, outer ones first, with their region depth."""
    waiting = [_iterate_children(operation)]
    while waiting:
        each = next(waiting[-1], None)
        if each is None:
            waiting.pop()
            continue
        yield each, len(waiting)
        if len(each.regions):
            waiting.append(_iterate_children(each))


def _iterate_children(operation: Any) -> Iterator[Any]:
    """Yield the operations of the blocks of an operation's regions."""
    for region in operation.regions:
        for block in region.blocks:
            for each in block.operations:
                yield each.operation


def check_regions(operation: Any) -> None:
    """Raise Unsupported, naming an operation, if it is nested in more than MAX_REGIONS regions."""
    for each, depth in iterate_with_depth(operation):
        # The module and the function add one region each.
        if depth > MAX_REGIONS + 2:
            raise make_depth_error(f"[{each.name}] {format_location(each)}")


def make_depth_error(where: str) -> Unsupported:
    """Return the error for an operation that is nested too deeply."""
    return Unsupported(
        f"{where}: expected at most {MAX_REGIONS} nested regions, got more; "
        "flatten the control flow or use stablehlo.select"
    )


# Check the calls of a program before they are inlined: inlining must end, within limits.

# Operations of an inlined program. The largest models of JAX have some ten thousand.
MAX_OPERATIONS = 500_000
# Each level of calls is one pass over all operations.
MAX_CALL_LEVELS = 1000


@dataclass
class _FunctionCalls:
    """The operations of one function, and its calls with their depth in regions."""

    operations: int = 0
    calls: list[tuple[str, int, Any]] = field(default_factory=list)

    @classmethod
    def from_function(cls, function: Any) -> _FunctionCalls:
        """Collect the operations and calls of a `func.func`."""
        from jaxlib.mlir import ir

        result = cls()
        for each, depth in iterate_with_depth(function):
            result.operations += 1
            if each.name == "func.call":
                callee = ir.FlatSymbolRefAttr(each.attributes["callee"]).value
                # The body of the function itself is the first region.
                result.calls.append((callee, depth - 1, each))
        return result


@dataclass
class _InlinedSize:
    """The size of one function after all of its calls are inlined."""

    operations: int
    regions: int
    levels: int


def check_calls(functions: Mapping[str, Any], entry: str, filename: str) -> None:
    """Raise Unsupported if the calls below `entry` cannot be inlined.

    That is the case for recursion and for functions without a body. It is also the case if the
    inlined program has more than MAX_OPERATIONS operations, MAX_REGIONS nested regions or
    MAX_CALL_LEVELS levels of calls.
    """
    if not _has_body(functions[entry]):
        raise Unsupported(f"{filename}: expected @{entry} to have a body, got a declaration")
    known: dict[str, _FunctionCalls] = {}
    sizes: dict[str, _InlinedSize] = {}
    path: dict[str, Iterator[tuple[str, int, Any]]] = {}

    def enter(name: str) -> None:
        known[name] = _FunctionCalls.from_function(functions[name])
        path[name] = iter(known[name].calls)

    enter(entry)
    while path:
        name = next(reversed(path))
        call = next(path[name], None)
        if call is None:
            del path[name]
            sizes[name] = _add_inlined_calls(known[name], sizes)
            continue
        callee, _, operation = call
        if callee in path:
            names = list(path)
            cycle = [*names[names.index(callee) :], callee]
            raise Unsupported(
                f"[func.call] {format_location(operation)}: expected functions without recursion, "
                f"got the cycle {' -> '.join(f'@{each}' for each in cycle)}; use stablehlo.while"
            )
        if not _has_body(functions[callee]):
            raise Unsupported(
                f"[func.call] {format_location(operation)}: expected a function with a body, got "
                f"the declaration @{callee}; define it in the same module"
            )
        if callee not in sizes:
            enter(callee)


def _has_body(function: Any) -> bool:
    return len(function.regions[0].blocks) > 0


def _add_inlined_calls(function: _FunctionCalls, sizes: Mapping[str, _InlinedSize]) -> _InlinedSize:
    """Return the size of a function, given the sizes of the functions that it calls."""
    size = _InlinedSize(function.operations, 0, 0)
    for callee, regions, operation in function.calls:
        inner = sizes[callee]
        size.operations += inner.operations
        size.regions = max(size.regions, regions + inner.regions)
        size.levels = max(size.levels, 1 + inner.levels)
        where = f"[func.call] {format_location(operation)}"
        if size.regions > MAX_REGIONS:
            raise make_depth_error(where)
        if size.levels > MAX_CALL_LEVELS:
            raise Unsupported(
                f"{where}: expected at most {MAX_CALL_LEVELS} levels of calls, got more; "
                "inline some of the functions"
            )
        if size.operations > MAX_OPERATIONS:
            raise Unsupported(
                f"{where}: expected at most {MAX_OPERATIONS} operations after inlining, got more "
                f"(@{callee} with its callees has {inner.operations}); use stablehlo.while for "
                "repeated code"
            )
    return size
