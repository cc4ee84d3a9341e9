"""Every error that metalbench raises on purpose; all of them are `MetalBenchError`."""

from __future__ import annotations

import errno
from collections.abc import Iterable

from metalbench._core import (
    ArgumentTypeError,
    CompileError,
    DispatchError,
    Disturbed,
    ForgedTimes,
    KernelFault,
    MachineError,
    OutOfMemoryError,
    TimeLimitExceeded,
    Unsupported,
)
from metalbench._core import Error as MetalBenchError

__all__ = [
    "ArgumentTypeError",
    "CompileError",
    "DeclarationError",
    "DispatchError",
    "Disturbed",
    "EncodingError",
    "ForgedTimes",
    "KernelDied",
    "KernelFault",
    "MachineError",
    "MetalBenchError",
    "OutOfMemoryError",
    "ResultTooLargeError",
    "StoreError",
    "TaskError",
    "TimeLimitExceeded",
    "Unsupported",
    "find_machine_error",
    "suggestion",
]


class DeclarationError(MetalBenchError, ValueError):
    """A task file, a kernel header or a name from the user is wrong."""


class TaskError(DeclarationError):
    """The code of a task failed: its file, its oracle or its reference, but not a kernel."""


class EncodingError(MetalBenchError, ValueError):
    """A message between processes violates its declared format."""


class KernelDied(MetalBenchError):  # noqa: N818 - what happened, as Disturbed
    """The process of a kernel ended; `kind` is the name of the finding's kind."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class StoreError(MachineError):
    """The result store cannot be read or written."""


class ResultTooLargeError(StoreError):
    """A value of one result is too large for the store. Other results can be stored."""


# Errors of the operating system that are caused by the state of the machine.
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
_LACKS = (*_NO_ROOM, errno.EROFS, errno.EMFILE, errno.ENFILE)


def find_machine_error(error: BaseException) -> MachineError | None:
    """Return the MachineError that `error` is or is caused by; None for other errors."""
    seen: BaseException | None = error
    while seen is not None:
        number = seen.errno if isinstance(seen, OSError) else None
        if isinstance(seen, MachineError):
            return seen
        if isinstance(seen, MemoryError) or number == errno.ENOMEM:
            return OutOfMemoryError(
                f"memory does not suffice: {error}; take a smaller --size, or raise `ulimit -v`"
            )
        if isinstance(seen, OSError) and number in _LACKS:
            where = f"{seen.filename}: " if seen.filename else ""
            remedy = "free some space" if number in _NO_ROOM else "fix it"
            return MachineError(f"{where}{seen.strerror}; {remedy} and run again")
        hidden = seen.__cause__ is not None or seen.__suppress_context__
        seen = seen.__cause__ if hidden else seen.__context__
    return None


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return a hint for an unknown name: similar names, else all known names."""
    import difflib  # for a mistake alone

    names = sorted(known)
    # A name in other letters, such as tg for TG, has no similar characters.
    folded = {each.lower(): each for each in reversed(names)}
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.6) or [
        folded[each] for each in difflib.get_close_matches(name.lower(), folded, n=3, cutoff=0.6)
    ]
    if close:
        return "did you mean " + " or ".join(repr(each) for each in close) + "?"
    return "expected one of " + ", ".join(names) if names else "there are none"
