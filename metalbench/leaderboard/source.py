"""The stored form of a kernel: its text with expanded headers, and its header lines."""

from __future__ import annotations

from dataclasses import replace
from itertools import takewhile
from pathlib import Path

from metalbench.kernel import Kernel, parse


def extract_header(source: str) -> str:
    """Return the lines above the first line of code, with `// dispatch:` and similar comments.

    They are stored separately, because in the whole text comments of an included header may follow.
    """
    lines = source.splitlines(keepends=True)
    return "".join(takewhile(lambda line: line.lstrip()[:2] in ("", "//"), lines))


def restore_kernel(task: str, file: str, header: str, source: str) -> Kernel:
    """Return the kernel stored as `header` and `source`; raises DeclarationError."""
    return replace(parse(header, name=task, path=Path(file)), source=source)
