"""What a checked run has left in memory: outputs never written, inputs that have changed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from metalbench.checking.finding import Frame
from metalbench.kernel.guard import GuardedBuffer
from metalbench.kernel.prepare import Bound


def left_behind(bound: Bound, inout: frozenset[str]) -> Iterator[tuple[str, str, str]]:
    """Kind, argument and message of each finding of which no access tells."""
    for name, each in bound.outputs.items():
        missing, first = each.buffer.unwritten()
        if missing:
            size = each.dtype.nbytes
            yield (
                "output-not-written",
                name,
                f"{-(-missing // size)} of {each.nbytes // size} elements of `{name}` were never "
                f"written, the first at byte {first}",
            )
    for name, each in bound.inputs.items():
        expected = bound.workload.inputs[name]
        if name not in inout and not each.holds(expected):
            byte = _first_changed(each, expected)
            yield (
                "write-to-input",
                name,
                f"the kernel has changed an element of `{name}`, which is an input: at byte {byte}",
            )


def _first_changed(buffer: GuardedBuffer, expected: np.ndarray[Any, Any]) -> int:
    theirs = np.ascontiguousarray(expected).reshape(-1).view(np.uint8)
    changed = int(np.flatnonzero(buffer.bytes != theirs)[0])
    return changed - changed % buffer.dtype.nbytes


def declared(source: str, file: str, kernel: str, argument: str) -> Frame:
    """Where a kernel of `source` declares its argument; its first line where that is not seen."""
    text = re.sub(r"//[^\n]*", lambda comment: " " * len(comment[0]), source)
    head = re.search(rf"\b{re.escape(kernel)}\s*\(", text)
    start = head.end() if head else 0
    found = re.search(rf"\b{re.escape(argument)}\b", text[start:])
    place = start + found.start() if found else 0
    line = text.count("\n", 0, place) + 1
    return Frame(kernel, file, line, place - text.rfind("\n", 0, place))
