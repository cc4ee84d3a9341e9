"""How much private memory the functions of a compiled kernel take, by clang's own account."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from metalbench._core import CompileError
from metalbench.msl.ir.places import is_own

_FUNCTION = re.compile(r'^define [^@]*@("[^"]*"|[\w.$-]+)\(.*?^}$', re.MULTILINE | re.DOTALL)
_CALLED = re.compile(r'\b(?:call|invoke) [^@\n]*@("[^"]*"|[\w.$-]+)\(')


class StackFrame(NamedTuple):
    """What a call of a function takes of a thread's stack, with those that it calls in turn.

    `where` and `function` are of the one among them that takes most; kernels' own functions are
    mostly inlined in the kernel.
    """

    bytes: int
    location: str
    function: str


_NOTHING = StackFrame(0, "", "")


class StackUsage:
    """Those of a module's functions: `usage` is what `-fstack-usage` writes of them.

    Which function calls which is as the module's `ir` has it before it is optimised: what is
    inlined has no frame then.
    """

    def __init__(self, usage: str, ir: str) -> None:
        self._own = {frame.function: frame for frame in _frames(usage)}
        self._ir = ir

    @property
    def total_bytes(self) -> int:
        """The bytes of all together, which is more than any calls within each other take."""
        return sum(frame.bytes for frame in self._own.values())

    def find_largest(self) -> StackFrame:
        """Of one call alone."""
        return max(self._own.values(), default=_NOTHING)

    def find_deepest(self) -> StackFrame:
        """The most that calls within each other take. One that calls itself counts once."""
        calls = {
            found[1].strip('"'): {each.strip('"') for each in _CALLED.findall(found[0])}
            for found in _FUNCTION.finditer(self._ir)
        }
        deepest: dict[str, StackFrame] = {}

        waiting = list(self._own)
        while waiting:
            function = waiting[-1]
            if function not in deepest:
                deepest[function] = _NOTHING  # of what is within itself
                waiting += [each for each in calls.get(function, ()) if each not in deepest]
                continue
            waiting.pop()
            listed = [deepest.get(each, _NOTHING) for each in calls.get(function, ())]
            below = max(listed, default=_NOTHING)
            frame = self._own.get(function, _NOTHING)
            most = max(frame, self._own.get(below.function, _NOTHING))
            deepest[function] = most._replace(bytes=frame.bytes + below.bytes)
        return max((deepest[each] for each in self._own), default=_NOTHING)


def _frames(usage: str) -> Iterator[StackFrame]:
    for line in usage.splitlines():
        name, size, _ = line.split("\t")
        where, _, function = name.rpartition(":")
        yield StackFrame(int(size), where, function)


def check_stack_usage(frames: StackUsage, kernel: str, headers: Path, *, together: bool) -> None:
    """Raise CompileError if no stack has room for one of them.

    Or, if they are `together`, for those of functions that call each other: of vectors, which have
    another way then. A thread that comes to such calls, if any does, is stopped when it does.
    """
    most = _most_bytes(headers)
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
def _most_bytes(headers: Path) -> int:
    """The runtime's limit, from the header that it is compiled with."""
    found = re.search(
        r"private_bytes = (\d+) \* 1024;", (headers / "mb" / "cpu" / "abi.h").read_text()
    )
    assert found is not None
    return int(found[1]) * 1024
