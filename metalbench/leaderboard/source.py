"""A kernel as records keep it: its text with all headers, and beside it its own header lines."""

from __future__ import annotations

from dataclasses import replace
from itertools import takewhile
from pathlib import Path

from metalbench.kernel import Kernel, parse


def header_of(source: str) -> str:
    """The lines above the first line of code, where `// dispatch:` and the like stand.

    They are kept apart: in the whole text the comments of an `#include`d header may follow them.
    """
    lines = source.splitlines(keepends=True)
    return "".join(takewhile(lambda line: line.lstrip()[:2] in ("", "//"), lines))


def kernel_of(task: str, file: str, header: str, source: str) -> Kernel:
    """The kernel that was kept as `header` and `source`; raises DeclarationError if it is none."""
    return replace(parse(header, name=task, path=Path(file)), source=source)
