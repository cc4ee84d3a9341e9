"""Check the private memory of a compiled kernel's functions, from clang's -fstack-usage."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from metalbench._core import CompileError
from metalbench.msl.ir.module import Module
from metalbench.msl.ir.places import is_own


class StackFrame(NamedTuple):
    """The stack usage of a function call, including its callees.

    `location` and `function` are those of the callee with the largest frame. Most of a kernel's
    functions are inlined.
    """

    bytes: int
    location: str
    function: str


_EMPTY_FRAME = StackFrame(0, "", "")


class StackUsage:
    """Stack usage of a module's functions. `usage` is the output of `-fstack-usage`.

    The call graph is that of the module's unoptimised `ir`: inlined functions have no frame.
    """

    def __init__(self, usage: str, ir: str) -> None:
        self._own = {frame.function: frame for frame in _parse_usage(usage)}
        self._ir = ir

    @property
    def total_bytes(self) -> int:
        """The sum of all frames: an upper bound for any chain of calls."""
        return sum(frame.bytes for frame in self._own.values())

    def find_largest(self) -> StackFrame:
        """Return the largest frame of a single function."""
        return max(self._own.values(), default=_EMPTY_FRAME)

    def find_deepest(self) -> StackFrame:
        """Return the chain of calls with the largest sum of frames. Recursion counts once."""
        calls = {
            name.strip('"'): {each.strip('"') for each in function.callees}
            for name, function in Module(self._ir).functions.items()
        }
        deepest: dict[str, StackFrame] = {}

        waiting = list(self._own)
        while waiting:
            function = waiting[-1]
            if function not in deepest:
                deepest[function] = _EMPTY_FRAME  # for recursive calls
                waiting += [each for each in calls.get(function, ()) if each not in deepest]
                continue
            waiting.pop()
            listed = [deepest.get(each, _EMPTY_FRAME) for each in calls.get(function, ())]
            below = max(listed, default=_EMPTY_FRAME)
            frame = self._own.get(function, _EMPTY_FRAME)
            most = max(frame, self._own.get(below.function, _EMPTY_FRAME))
            deepest[function] = most._replace(bytes=frame.bytes + below.bytes)
        return max((deepest[each] for each in self._own), default=_EMPTY_FRAME)


def _parse_usage(usage: str) -> Iterator[StackFrame]:
    for line in usage.splitlines():
        name, size, _ = line.split("\t")
        where, _, function = name.rpartition(":")
        yield StackFrame(int(size), where, function)


def check_stack_usage(frames: StackUsage, kernel: str, headers: Path, *, together: bool) -> None:
    """Raise CompileError if a function's frame exceeds the private memory of a thread.

    With `together` the sum over a chain of calls counts: vectors have fibers as a fallback.
    Otherwise a thread that exceeds the limit in nested calls is stopped at run time.
    """
    most = _read_private_limit(headers)
    if frames.total_bytes <= most:
        return
    frame = frames.find_deepest() if together else frames.find_largest()
    if frame.bytes <= most:
        return
    its = "" if is_own(frame.location) else f" in {frame.function} ({frame.location})"
    raise CompileError(
        f"[{kernel}] private memory: expected at most {most} bytes ({most >> 10} KiB) a thread, "
        f"got a frame of {frame.bytes} bytes{its}; make the arrays of a thread smaller, or keep "
        "them in threadgroup or device memory"
    )


@cache
def _read_private_limit(headers: Path) -> int:
    """Return the runtime's limit in bytes, from the runtime's header."""
    found = re.search(
        r"private_bytes = (\d+) \* 1024;", (headers / "mb" / "cpu" / "abi.h").read_text()
    )
    assert found is not None
    return int(found[1]) * 1024
