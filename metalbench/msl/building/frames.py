"""How much private memory the functions of a compiled kernel take, by clang's own account."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

from metalbench._core import CompileError
from metalbench.msl.ir.places import is_own


class Frame(NamedTuple):
    """What one call of a function takes of a thread's stack; the kernel's own are inlined in it."""

    bytes: int
    where: str
    function: str


def largest_frame(usage: str) -> Frame:
    """The largest frame in what `-fstack-usage` writes."""
    frames = [Frame(0, "", "")]
    for line in usage.splitlines():
        name, size, _ = line.split("\t")
        where, _, function = name.rpartition(":")
        frames.append(Frame(int(size), where, function))
    return max(frames)


def check_frame(frame: Frame, kernel: str, headers: Path) -> None:
    """Raise CompileError if no thread's stack has room for a frame."""
    most = _most_bytes(headers)
    if frame.bytes <= most:
        return
    its = "" if is_own(frame.where) else f" in {frame.function} ({frame.where})"
    raise CompileError(
        f"[{kernel}] private memory: expected at most {most} bytes ({most >> 10} KiB) a thread, "
        f"got a frame of {frame.bytes} bytes{its}; make the arrays of a thread smaller, or keep "
        "them in threadgroup or device memory"
    )


@cache
def _most_bytes(headers: Path) -> int:
    """The runtime's limit, from the header that it is compiled with."""
    found = re.search(r"private_bytes = (\d+) \* 1024;", (headers / "mb" / "abi.h").read_text())
    assert found is not None
    return int(found[1]) * 1024
