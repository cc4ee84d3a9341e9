"""Find outputs that a checked run left unwritten, and their declarations."""

from __future__ import annotations

import re
from collections.abc import Iterator

from metalbench.checking.finding import Frame
from metalbench.kernel.prepare import Bound
from metalbench.kernel.texture import pixel_format


def find_unwritten_outputs(bound: Bound) -> Iterator[tuple[str, str]]:
    """Yield the name of each output with unwritten elements, and a message."""
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


def find_declaration(source: str, file: str, kernel: str, argument: str) -> Frame:
    """Return the declaration of a kernel's argument in `source`; the first line if not found."""
    text = re.sub(r"//[^\n]*", lambda comment: " " * len(comment[0]), source)
    head = re.search(rf"\b{re.escape(kernel)}\s*\(", text)
    start = head.end() if head else 0
    found = re.search(rf"\b{re.escape(argument)}\b", text[start:])
    place = start + found.start() if found else 0
    line = text.count("\n", 0, place) + 1
    return Frame(kernel, file, line, place - text.rfind("\n", 0, place))
