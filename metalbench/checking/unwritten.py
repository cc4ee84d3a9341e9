"""Outputs that a checked run has left unwritten, and where a kernel declares them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from metalbench.checking.finding import Frame
from metalbench.kernel.prepare import Bound
from metalbench.kernel.texture import pixel_format


def unwritten(bound: Bound) -> Iterator[tuple[str, str]]:
    """The name of each output that has elements nobody wrote, and what is to be said of it."""
    for name, each in bound.outputs.items():
        missing, first = each.buffer.unwritten()
        if missing:
            texels = bound.workload.task.outputs[name].pixel_format
            size = each.dtype.nbytes * (pixel_format(texels).components if texels else 1)
            yield (
                name,
                f"{-(-missing // size)} of {each.nbytes // size} "
                f"{'texels' if texels else 'elements'} of `{name}` were never "
                f"written, the first at byte {first}",
            )


def declared(source: str, file: str, kernel: str, argument: str) -> Frame:
    """Where a kernel of `source` declares its argument; its first line where that is not seen."""
    text = re.sub(r"//[^\n]*", lambda comment: " " * len(comment[0]), source)
    head = re.search(rf"\b{re.escape(kernel)}\s*\(", text)
    start = head.end() if head else 0
    found = re.search(rf"\b{re.escape(argument)}\b", text[start:])
    place = start + found.start() if found else 0
    line = text.count("\n", 0, place) + 1
    return Frame(kernel, file, line, place - text.rfind("\n", 0, place))
