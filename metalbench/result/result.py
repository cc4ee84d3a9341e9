"""What was seen of one kernel: what was asked, whether it is right, how fast it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

# Not for type checkers alone: results come out of other processes by their declared types.
from metalbench.analysis import Analysis, Occupancy
from metalbench.measure import Measurement
from metalbench.result.conditions import Facts
from metalbench.result.counted import CountedBytes


class Status(str, Enum):
    """The outcome for one kernel."""

    CORRECT = "correct"
    INCORRECT = "incorrect"
    FAILED = "failed"
    # No error was found, but the result or the time is not of the candidate's own kernels.
    NOT_OWN = "not by its own kernels"


@dataclass(frozen=True, slots=True)
class DeviceFacts:
    """The device that a result belongs to; `capabilities` are what it tells of itself."""

    kind: str
    name: str
    chip: str | None
    cores: int
    capabilities: Facts = field(default_factory=dict)

    @property
    def simulated(self) -> bool:
        """Whether its times are host times of a simulation, not those of a GPU."""
        return self.kind == "cpu"


@dataclass(frozen=True, slots=True)
class Case:
    """One kernel at one size and element type, as it was run.

    `tuning` says where its tunables come from, if a search found them.
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
    """Where in the flow a kernel failed, with the error's class and message.

    A message of more than `MOST_MESSAGE` characters, which a candidate may write, is cut in the
    middle: it is stored, printed, and sent between processes.
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

    `worst` is the greatest error as a fraction of what is allowed (1 is the limit), None where the
    comparison is exact; `where` says at which element of which output, `message` what was there.
    """

    size: str
    seed: int
    passed: bool
    worst: float | None
    where: str
    message: str


@dataclass(frozen=True, slots=True)
class Result:
    """Everything about one kernel in one run; a kernel that failed early lacks the later parts.

    `notes` say what could not be checked on this device and what makes the times doubtful; `state`
    is that of the device when the kernel had been timed. `counted` is of kernels that were tried
    alone, once they were timed; it is in no store. `unconfined` is what the system lacked to
    confine the process of a Python candidate, which ran there nevertheless.
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
        """The check that came closest to its bound, or went furthest beyond it."""
        judged = [check for check in self.checks if check.worst is not None]
        return max(judged, key=lambda check: check.worst or 0.0, default=None)
