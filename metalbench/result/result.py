"""The result of one kernel: the request, its correctness and its times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

# Imported at run time: results from other processes are decoded by their declared types.
from metalbench.analysis import Analysis, Occupancy
from metalbench.measure import Measurement
from metalbench.result.conditions import Facts
from metalbench.result.counted import CountedBytes


class Status(str, Enum):
    """The outcome for one kernel."""

    CORRECT = "correct"
    INCORRECT = "incorrect"
    FAILED = "failed"
    # No error was found, but result or time do not come from the candidate's kernels.
    NOT_OWN = "not by its own kernels"


@dataclass(frozen=True, slots=True)
class DeviceFacts:
    """The device of a result; `capabilities` are the facts that the device reports."""

    kind: str
    name: str
    chip: str | None
    cores: int
    capabilities: Facts = field(default_factory=dict)

    @property
    def simulated(self) -> bool:
        """Whether its times are host times of a simulation instead of times of a GPU."""
        return self.kind == "cpu"


@dataclass(frozen=True, slots=True)
class Case:
    """One kernel at one size and element type, as it was run.

    `tuning` is the origin of its tunables if a search found them.
    """

    task: str
    set: str
    description: str
    size: str
    sizes: Mapping[str, int]
    dtype: str
    kernel: str
    source: str
    source_hash: str
    tunables: Mapping[str, int]
    reference: str
    tuning: str = ""


MOST_MESSAGE = 50_000


@dataclass(frozen=True, slots=True)
class Failure:
    """The stage at which a kernel failed, with the error's class and message.

    A message of more than `MOST_MESSAGE` characters, which a candidate may write, is cut in the
    middle, because it is stored, printed, and sent between processes.
    """

    stage: str
    kind: str
    message: str

    def __post_init__(self) -> None:
        cut = len(self.message) - MOST_MESSAGE
        if cut > 0:
            half = MOST_MESSAGE // 2
            text = f"{self.message[:half]}\n[{cut} characters left out]\n{self.message[-half:]}"
            object.__setattr__(self, "message", text)


@dataclass(frozen=True, slots=True)
class Check:
    """One comparison with the oracle.

    `worst` is the largest error as a fraction of the tolerance (1 is the limit), None for an exact
    comparison. `where` names the element and the output, `message` the values.
    """

    size: str
    seed: int
    passed: bool
    worst: float | None
    where: str
    message: str


@dataclass(frozen=True, slots=True)
class Result:
    """All results of one kernel in one run; a kernel that failed early lacks the later parts.

    `notes` are checks that this device cannot do and doubts about the times. `state` is the device
    state after timing. `counted` is set for kernels that ran alone, and is not stored. `unconfined`
    is the confinement that the system lacked for the process of a Python candidate, which ran
    anyway.
    """

    case: Case
    device: DeviceFacts
    status: Status
    failures: tuple[Failure, ...] = ()
    checks: tuple[Check, ...] = ()
    notes: tuple[str, ...] = ()
    occupancy: tuple[Occupancy, ...] = ()
    measurement: Measurement | None = None
    analysis: Analysis | None = None
    seconds: float = 0.0
    state: Facts = field(default_factory=dict)
    counted: CountedBytes | None = None
    unconfined: str = ""

    @property
    def worst_check(self) -> Check | None:
        """The check with the largest error relative to its tolerance."""
        judged = [check for check in self.checks if check.worst is not None]
        return max(judged, key=lambda check: check.worst or 0.0, default=None)
