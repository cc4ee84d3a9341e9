"""Parse the location out of a finding's message, for programs that read results."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

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
from metalbench.finding_kinds import Kind

Position = tuple[int, int, int]

# Clang's form comes first: its message may begin with lines without a location.
_ERROR = re.compile(
    r"^(?P<file>[^\n:]+):(?P<line>\d{1,18}):(?P<column>\d{1,18}): (?:fatal )?error: ", re.MULTILINE
)
_LINE = re.compile(r"(?:^|\] )(?P<file>[^\n:\]]+):(?P<line>\d{1,18})(?::(?P<column>\d{1,18}))?: ")
# Messages may quote a candidate, so the number of digits is limited.
_BUFFER = re.compile(r"\b(?:of|before) `(\w+)(?:\[\d+\])?`|^\[[^\]]*\] (\w+): (?!\d)")
_BEFORE = re.compile(r"begins (\d{1,18}) bytes before")
_BYTE = re.compile(r"\bbyte (\d{1,18})")
_ADDRESS = re.compile(r"\baddress (0x[0-9a-fA-F]+|\(nil\))")
_INDEX = re.compile(
    r" at (?:\((?P<several>\d{1,18}(?:, ?\d{1,18}){0,31},?)\)|(?P<one>\d{1,18})), got "
)
_THREAD = re.compile(r"\bthread \((\d{1,18}), (\d{1,18}), (\d{1,18})\)")
_THREADGROUP = re.compile(r"\bthreadgroup \((\d{1,18}), (\d{1,18}), (\d{1,18})\)")


@dataclass(frozen=True, slots=True)
class FindingPlace:
    """The location of a finding, as far as its message has it.

    `line` and `column` count from 1. `byte` is an offset in `buffer`, or in threadgroup memory if
    no buffer is named; negative offsets are before the start. `index` is the index of an output's
    element. `address` is an invalid pointer.
    """

    file: str | None = None
    line: int | None = None
    column: int | None = None
    buffer: str | None = None
    index: tuple[int, ...] | None = None
    byte: int | None = None
    address: str | None = None
    thread: Position | None = None
    threadgroup: Position | None = None


def place_of(message: str) -> FindingPlace:
    """Parse the location in a compiler's error, a fault or a message about a wrong result."""
    code = _ERROR.search(message) or _LINE.search(message)
    column = code["column"] if code else None
    return FindingPlace(
        file=code["file"] if code else None,
        line=int(code["line"]) if code else None,
        column=int(column) if column else None,
        buffer=_buffer(message),
        index=_index(message),
        byte=_byte(message),
        address=_address(message),
        thread=_position(_THREAD, message),
        threadgroup=_position(_THREADGROUP, message),
    )


def _buffer(message: str) -> str | None:
    found = _BUFFER.search(message)
    return (found[1] or found[2]) if found else None


def _index(message: str) -> tuple[int, ...] | None:
    found = _INDEX.search(message)
    if found is None:
        return None
    return tuple(int(each) for each in (found["several"] or found["one"]).split(",") if each)


def _byte(message: str) -> int | None:
    before = _BEFORE.search(message)
    if before:
        return -int(before[1])
    found = _BYTE.search(message)
    return int(found[1]) if found else None


def _address(message: str) -> str | None:
    found = _ADDRESS.search(message)
    return found[1].replace("(nil)", "0x0") if found else None


def _position(pattern: re.Pattern[str], message: str) -> Position | None:
    found = pattern.search(message)
    return (int(found[1]), int(found[2]), int(found[3])) if found else None


# Findings, comparisons with the oracle, and the report of a verification.


@dataclass(frozen=True)
class Finding:
    """One failure: `message` has the expected and actual value, the place, and a likely cause."""

    kind: Kind
    message: str
    size: str = ""
    seed: int | None = None
    output: str = ""

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}"

    @property
    def place(self) -> FindingPlace:
        """The location: line, buffer and thread, as far as `message` has them."""
        return place_of(self.message)


@dataclass(frozen=True)
class Comparison:
    """The comparison of one output with the oracle.

    `error` and `bound` are of the element at `index`, which is nearest to its bound or furthest
    beyond. `rms_error` and `rms_bound` are of the whole output; `rms_bound` is infinite for an
    output with too few elements. `ratio` is the larger of the two ratios: up to 1 passes.
    """

    output: str
    error: float
    bound: float
    index: tuple[int, ...]
    expected: float
    got: float
    rms_error: float
    rms_bound: float
    size: str = ""
    seed: int = 0
    dtype: str = "float32"

    @property
    def ratio(self) -> float:
        """Error / bound: the larger of the ratios of the largest error and the root mean square."""
        if not self.bound:
            return math.inf if self.error else 0.0
        return max(self.error / self.bound, self.rms_error / self.rms_bound)

    @property
    def passed(self) -> bool:
        """Whether the output is correct."""
        return self.ratio <= 1


@dataclass(frozen=True)
class Report:
    """The findings and comparisons of one kernel; `skipped` has notes about omitted checks."""

    findings: tuple[Finding, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    skipped: tuple[str, ...] = field(default=())

    @property
    def passed(self) -> bool:
        """Whether there are no findings."""
        return not self.findings

    @property
    def worst(self) -> Comparison | None:
        """The comparison with the largest ratio."""
        return max(self.comparisons, key=lambda each: each.ratio, default=None)

    def __add__(self, other: Report) -> Report:
        return Report(
            self.findings + other.findings,
            self.comparisons + other.comparisons,
            self.skipped + other.skipped,
        )


def merge_reports(reports: Iterable[Report]) -> Report:
    """Merge reports into one."""
    return sum(reports, Report())


# Convert errors that a kernel causes to findings.

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
