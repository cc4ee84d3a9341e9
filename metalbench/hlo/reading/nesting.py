"""Limit the nesting of regions: MLIR's parser and our passes recurse, and a stack is finite.

MLIR's text parser overflows 8 MB of stack between 2000 and 5000 nested regions, which ends the
process. Python's recursion limit of 1000 frames is reached between 100 and 300 regions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from metalbench.errors import Unsupported
from metalbench.hlo.reading.location import format_location

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
