"""Every error that metalbench raises on purpose; all of them are `MetalBenchError`."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from metalbench._core import (
    CompileError,
    DispatchError,
    Disturbed,
    KernelFault,
    TimeLimitExceeded,
    Unsupported,
)
from metalbench._core import Error as MetalBenchError

__all__ = [
    "CompileError",
    "DeclarationError",
    "DispatchError",
    "Disturbed",
    "KernelFault",
    "MetalBenchError",
    "StoreError",
    "TaskError",
    "TimeLimitExceeded",
    "Unsupported",
    "suggestion",
]


class DeclarationError(MetalBenchError):
    """A task file, a kernel's header or a name given by the user is wrong."""


class TaskError(DeclarationError):
    """The code of a task failed: its file, its oracle or its reference. No kernel is to blame."""


class StoreError(MetalBenchError):
    """The result store cannot be read or written."""


def suggestion(name: str, known: Iterable[str]) -> str:
    """The end of an error about an unknown name: what was probably meant, else all that exist."""
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.6)
    if close:
        return "did you mean " + " or ".join(repr(each) for each in close) + "?"
    return "expected one of " + ", ".join(names) if names else "there are none"
