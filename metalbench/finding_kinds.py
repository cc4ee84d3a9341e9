"""Kinds of findings about a kernel."""

from __future__ import annotations

from enum import Enum


class Kind(str, Enum):
    """A kind of defect of a kernel."""

    WRONG_RESULT = "WRONG_RESULT"
    NOT_WRITTEN = "NOT_WRITTEN"
    OUT_OF_BOUNDS = "OUT_OF_BOUNDS"
    RACE = "RACE"
    UNINITIALISED = "UNINITIALISED"
    GUARD_ZONE = "GUARD_ZONE"
    INPUT_CHANGED = "INPUT_CHANGED"
    NONDETERMINISTIC = "NONDETERMINISTIC"
    STALE_RESULT = "STALE_RESULT"
    LESS_WORK = "LESS_WORK"
    TIME_LIMIT = "TIME_LIMIT"
    FAULT = "FAULT"
    CRASH = "CRASH"
    FORGED_TIMES = "FORGED_TIMES"
    OUT_OF_MEMORY = "OUT_OF_MEMORY"
    COMPILE_ERROR = "COMPILE_ERROR"
    DISPATCH_ERROR = "DISPATCH_ERROR"
    UNSUPPORTED = "UNSUPPORTED"
    IMPLAUSIBLE = "IMPLAUSIBLE"
    NOT_OWN_WORK = "NOT_OWN_WORK"
    # Not the kernel's fault: the system ended several runs.
    DISTURBED = "DISTURBED"

    def __str__(self) -> str:
        return self.value

    @property
    def ends_verification(self) -> bool:
        """Whether further sizes would fail in the same way or take too long."""
        return self in _FINAL

    @property
    def prevents_run(self) -> bool:
        """Whether the kernel did not run at all, so that it has failed and is not incorrect."""
        return self in _PREVENTING


_FINAL = {
    Kind.TIME_LIMIT,
    Kind.FAULT,
    Kind.CRASH,
    Kind.FORGED_TIMES,
    Kind.OUT_OF_MEMORY,
    Kind.COMPILE_ERROR,
    Kind.DISPATCH_ERROR,
    Kind.UNSUPPORTED,
}
_PREVENTING = {Kind.COMPILE_ERROR, Kind.DISPATCH_ERROR, Kind.UNSUPPORTED}
