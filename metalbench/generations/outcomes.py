"""What may become of a generation: it is correct, or it fails in one of these ways."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import TYPE_CHECKING

from metalbench.kind import Kind
from metalbench.msl.reading.host_code import REFUSAL_SUFFIX

if TYPE_CHECKING:
    from metalbench.result import Failure


class Outcome(str, Enum):
    """The class of a generation, in the order in which a generation can get so far."""

    MISSING = "missing"
    REFUSED = "refused"
    CUT_OFF = "cut off"
    EMPTY = "empty"
    NO_TEXT = "no text"
    PROSE = "prose"
    SEVERAL_BLOCKS = "several code blocks"
    PYTHON = "Python, not Metal"
    NO_HEADER = "no or wrong header"
    FORBIDDEN = "forbidden"
    DOES_NOT_COMPILE = "does not compile"
    DOES_NOT_BIND = "does not bind"
    WRONG = "wrong result"
    FAULT = "race or bounds"
    CRASH = "crash"
    TIME_LIMIT = "time limit"
    OUT_OF_MEMORY = "out of memory"
    CHEAT = "cheat"
    NOT_OWN = "not by its own kernels"
    CORRECT = "correct"

    def __str__(self) -> str:
        return self.value

    @property
    def compiled(self) -> bool:
        """Whether the generation got past the compiler and its arguments were bound."""
        return _ORDER[self] > _ORDER[Outcome.DOES_NOT_BIND]


_ORDER = {each: place for place, each in enumerate(Outcome)}

_OF_KIND: Mapping[Kind, Outcome] = {
    Kind.WRONG_RESULT: Outcome.WRONG,
    Kind.NOT_WRITTEN: Outcome.WRONG,
    Kind.NONDETERMINISTIC: Outcome.WRONG,
    Kind.OUT_OF_BOUNDS: Outcome.FAULT,
    Kind.RACE: Outcome.FAULT,
    Kind.UNINITIALISED: Outcome.FAULT,
    Kind.GUARD_ZONE: Outcome.FAULT,
    Kind.INPUT_CHANGED: Outcome.FAULT,
    Kind.FAULT: Outcome.FAULT,
    Kind.CRASH: Outcome.CRASH,
    Kind.DISTURBED: Outcome.CRASH,
    Kind.TIME_LIMIT: Outcome.TIME_LIMIT,
    Kind.OUT_OF_MEMORY: Outcome.OUT_OF_MEMORY,
    Kind.STALE_RESULT: Outcome.CHEAT,
    Kind.LESS_WORK: Outcome.CHEAT,
    Kind.FORGED_TIMES: Outcome.CHEAT,
    Kind.IMPLAUSIBLE: Outcome.CHEAT,
    Kind.NOT_OWN_WORK: Outcome.NOT_OWN,
    Kind.COMPILE_ERROR: Outcome.DOES_NOT_COMPILE,
    Kind.DISPATCH_ERROR: Outcome.DOES_NOT_BIND,
    Kind.UNSUPPORTED: Outcome.DOES_NOT_COMPILE,
}
# Errors that have no kind of their own, by the name of their class.
_OF_ERROR = {
    "CompileError": Outcome.DOES_NOT_COMPILE,
    "Unsupported": Outcome.DOES_NOT_COMPILE,
    "DeclarationError": Outcome.DOES_NOT_BIND,
    "DispatchError": Outcome.DOES_NOT_BIND,
    "TimeLimitExceeded": Outcome.TIME_LIMIT,
    "OutOfMemoryError": Outcome.OUT_OF_MEMORY,
    "KernelFault": Outcome.FAULT,
}


def outcome_of(failure: Failure) -> Outcome:
    """The class of a failure that a trial has told."""
    if REFUSAL_SUFFIX in failure.message:
        return Outcome.FORBIDDEN
    try:
        return _OF_KIND[Kind(failure.kind)]
    except ValueError:
        return _OF_ERROR.get(failure.kind, Outcome.CRASH)
