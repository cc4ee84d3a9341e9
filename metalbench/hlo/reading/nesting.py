"""Limits of nesting: MLIR's parser and the passes here recurse, and a stack ends.

MLIR's text parser overflows 8 MB of stack between 2000 and 5000 nested regions, which ends the
process. Python's own recursion limit of 1000 frames is reached between 100 and 300 regions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from metalbench.errors import Unsupported
from metalbench.hlo.reading.location import format_location

MOST_REGIONS = 64
# A region in MLIR's generic form takes two brackets.
MOST_BRACKETS = 512
# What brackets mean nothing in: strings, comments, arrows and signs of comparison.
_OPAQUE = re.compile(rb'"(?:[^"\\\n]|\\.)*"|//[^\n]*|->|>=|<=')
_STEPS = np.zeros(256, np.int8)
_STEPS[list(b"([{<")] = 1
_STEPS[list(b")]}>")] = -1


def check_brackets(text: str | bytes, filename: str) -> None:
    """Raise Unsupported if a text has more nested brackets than MLIR's parser has stack for."""
    code = text.encode() if isinstance(text, str) else text
    # The opaque parts are removed only where they could matter: texts have megabytes of constants.
    if _measure_depth(code) <= MOST_BRACKETS:
        return
    depth = _measure_depth(_OPAQUE.sub(b"", code))
    if depth > MOST_BRACKETS:
        raise Unsupported(
            f"{filename}: expected at most {MOST_BRACKETS} nested brackets, got {depth}; "
            f"move inner regions into functions of their own or flatten them"
        )


def _measure_depth(code: bytes) -> int:
    """Return how far brackets are nested at the most, also behind closing ones too many."""
    steps = _STEPS[np.frombuffer(code, np.uint8)]
    steps = steps[steps != 0]
    if not steps.size:
        return 0
    levels = np.cumsum(steps, dtype=np.int64)
    return int((levels - np.minimum(np.minimum.accumulate(levels), 0)).max())


def iterate_operations(operation: Any) -> Iterator[Any]:
    """Return all operations inside of one, outer ones first."""
    return (each for each, _ in iterate_with_depth(operation))


def iterate_with_depth(operation: Any) -> Iterator[tuple[Any, int]]:
    """Return all operations inside of one, outer ones first, and how many regions each is in."""
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
    for region in operation.regions:
        for block in region.blocks:
            for each in block.operations:
                yield each.operation


def check_regions(operation: Any) -> None:
    """Raise Unsupported, naming an operation, if it is in more than MOST_REGIONS regions."""
    for each, depth in iterate_with_depth(operation):
        # The module and the function are a region each.
        if depth > MOST_REGIONS + 2:
            raise make_depth_error(f"[{each.name}] {format_location(each)}")


def make_depth_error(where: str) -> Unsupported:
    """Return the error of an operation that is nested too deeply."""
    return Unsupported(
        f"{where}: expected at most {MOST_REGIONS} nested regions, got more; "
        "flatten the control flow or use stablehlo.select"
    )
