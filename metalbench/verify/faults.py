"""Convert errors that a kernel causes to findings."""

from __future__ import annotations

from metalbench.errors import (
    CompileError,
    DeclarationError,
    DispatchError,
    Disturbed,
    ForgedTimes,
    KernelDied,
    KernelFault,
    MetalBenchError,
    TimeLimitExceeded,
    Unsupported,
)
from metalbench.kind import Kind
from metalbench.verify.verdict import Finding

_KINDS = (
    (CompileError, Kind.COMPILE_ERROR),
    (TimeLimitExceeded, Kind.TIME_LIMIT),
    (ForgedTimes, Kind.FORGED_TIMES),
    (Disturbed, Kind.DISTURBED),
    (Unsupported, Kind.UNSUPPORTED),
    (DispatchError, Kind.DISPATCH_ERROR),
    (DeclarationError, Kind.DISPATCH_ERROR),
)
# Phrases in the messages of the cpu device's checks.
THREADGROUP = "no thread of the group has written"
DEVICE = "that nothing has written"
_FAULTS = (
    ("write to a buffer that the kernel takes as `const`", Kind.INPUT_CHANGED),
    ("race in", Kind.RACE),
    (THREADGROUP, Kind.UNINITIALISED),
    (DEVICE, Kind.UNINITIALISED),
    ("past the end of", Kind.OUT_OF_BOUNDS),
    ("bytes before", Kind.OUT_OF_BOUNDS),
    ("outside of every buffer", Kind.OUT_OF_BOUNDS),
    ("of a buffer that", Kind.OUT_OF_BOUNDS),
)


def make_finding(error: MetalBenchError, size: str = "", seed: int | None = None) -> Finding:
    """Return the finding with the kind and message of `error`."""
    message = str(error)
    if isinstance(error, KernelFault):
        kinds = (kind for words, kind in _FAULTS if words in message)
        kind = next(kinds, Kind.FAULT)
        if THREADGROUP in message:
            message += "; is a threadgroup_barrier missing, or the first store?"
        elif DEVICE in message:
            message += "; outputs and scratch hold anything at the start of a run"
        return Finding(kind, message, size, seed)
    if isinstance(error, KernelDied):
        return Finding(Kind(error.kind), message, size, seed)
    for cause, kind in _KINDS:
        if isinstance(error, cause):
            return Finding(kind, message, size, seed)
    return Finding(Kind.FAULT, message, size, seed)


def kind_named(name: str) -> Kind:
    """Return the kind with this name, or of the error class with this name."""
    causes = {cause.__name__: kind for cause, kind in _KINDS}
    return causes.get(name, Kind(name) if name in Kind.__members__ else Kind.FAULT)
