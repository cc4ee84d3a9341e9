"""Check the calls of a program before they are inlined: inlining must end, within limits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from metalbench.errors import Unsupported
from metalbench.hlo.reading.location import format_location
from metalbench.hlo.reading.nesting import MAX_REGIONS, iterate_with_depth, make_depth_error

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
