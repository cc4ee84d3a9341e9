"""What may become of a generation: it is correct, or it fails in one of these ways."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import TYPE_CHECKING

from metalbench.kind import Kind
from metalbench.msl.reading.host_code import REFUSAL_SUFFIX

if TYPE_CHECKING:
    from metalbench.result import Failure


class GenerationOutcome(str, Enum):
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
    def has_compiled(self) -> bool:
        """Whether the generation got past the compiler and its arguments were bound."""
        return _ORDER[self] > _ORDER[GenerationOutcome.DOES_NOT_BIND]


_ORDER = {each: place for place, each in enumerate(GenerationOutcome)}

_OF_KIND: Mapping[Kind, GenerationOutcome] = {
    Kind.WRONG_RESULT: GenerationOutcome.WRONG,
    Kind.NOT_WRITTEN: GenerationOutcome.WRONG,
    Kind.NONDETERMINISTIC: GenerationOutcome.WRONG,
    Kind.OUT_OF_BOUNDS: GenerationOutcome.FAULT,
    Kind.RACE: GenerationOutcome.FAULT,
    Kind.UNINITIALISED: GenerationOutcome.FAULT,
    Kind.GUARD_ZONE: GenerationOutcome.FAULT,
    Kind.INPUT_CHANGED: GenerationOutcome.FAULT,
    Kind.FAULT: GenerationOutcome.FAULT,
    Kind.CRASH: GenerationOutcome.CRASH,
    Kind.DISTURBED: GenerationOutcome.CRASH,
    Kind.TIME_LIMIT: GenerationOutcome.TIME_LIMIT,
    Kind.OUT_OF_MEMORY: GenerationOutcome.OUT_OF_MEMORY,
    Kind.STALE_RESULT: GenerationOutcome.CHEAT,
    Kind.LESS_WORK: GenerationOutcome.CHEAT,
    Kind.FORGED_TIMES: GenerationOutcome.CHEAT,
    Kind.IMPLAUSIBLE: GenerationOutcome.CHEAT,
    Kind.NOT_OWN_WORK: GenerationOutcome.NOT_OWN,
    Kind.COMPILE_ERROR: GenerationOutcome.DOES_NOT_COMPILE,
    Kind.DISPATCH_ERROR: GenerationOutcome.DOES_NOT_BIND,
    Kind.UNSUPPORTED: GenerationOutcome.DOES_NOT_COMPILE,
}
# Errors that have no kind of their own, by the name of their class.
_OF_ERROR = {
    "CompileError": GenerationOutcome.DOES_NOT_COMPILE,
    "Unsupported": GenerationOutcome.DOES_NOT_COMPILE,
    "DeclarationError": GenerationOutcome.DOES_NOT_BIND,
    "DispatchError": GenerationOutcome.DOES_NOT_BIND,
    "TimeLimitExceeded": GenerationOutcome.TIME_LIMIT,
    "OutOfMemoryError": GenerationOutcome.OUT_OF_MEMORY,
    "KernelFault": GenerationOutcome.FAULT,
}


def classify_failure(failure: Failure) -> GenerationOutcome:
    """The class of a failure that a trial has told."""
    if REFUSAL_SUFFIX in failure.message:
        return GenerationOutcome.FORBIDDEN
    try:
        return _OF_KIND[Kind(failure.kind)]
    except ValueError:
        return _OF_ERROR.get(failure.kind, GenerationOutcome.CRASH)
