"""Grid and threadgroup sizes of dispatches, from the expressions of a kernel header."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from metalbench.errors import DeclarationError, DispatchError
from metalbench.kernel.directives import Dispatch
from metalbench.task.expression import Expression

Extents = tuple[int, int, int]


@dataclass(frozen=True)
class Geometry:
    """Sizes of one dispatch. `grid` counts threads if `in_threads` is true, else threadgroups."""

    function: str
    threads: Extents
    grid: Extents
    in_threads: bool
    threadgroup_bytes: Mapping[str, int]

    @property
    def threads_per_threadgroup(self) -> int:
        """Threads in one threadgroup."""
        return int(np.prod(self.threads, dtype=np.int64))


def count_threads(line: Dispatch, values: Mapping[str, int]) -> int | None:
    """Return threads in a threadgroup with these values; None where they make no size."""
    try:
        extents = [each.evaluate(values) for each in line.threads]
    except DeclarationError:
        return None
    return math.prod(extents) if min(extents) > 0 else None


def evaluate(expression: Expression, values: Mapping[str, int], where: str) -> int:
    """Return the value of an expression; raise DeclarationError that begins with `where`."""
    try:
        return expression.evaluate(values)
    except DeclarationError as error:
        raise DeclarationError(f"{where}: {error}") from None


def evaluate_extent(expression: Expression, values: Mapping[str, int], where: str) -> int:
    """Return a size of a grid or threadgroup. Raise DispatchError unless it is one."""
    value = evaluate(expression, values, where)
    if not 0 < value < 2**32:
        used = ", ".join(f"{name} = {values[name]}" for name in sorted(expression.names))
        raise DispatchError(
            f"{where}: expected 1 to 2^32 - 1 for {expression}, got {value}"
            + (f" ({used})" if used else "")
        )
    return value


def evaluate_extents(
    expressions: Sequence[Expression], values: Mapping[str, int], where: str
) -> Extents:
    """Return one to three sizes, as three."""
    extents = [evaluate_extent(each, values, where) for each in expressions]
    x, y, z = (*extents, 1, 1, 1)[:3]
    return x, y, z
