"""Conditions of a machine that make its times less reliable, with remedies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

from metalbench.devices import find_kind
from metalbench.measure.analysis import Analysis, Occupancy
from metalbench.measure.measurement import Measurement
from metalbench.stats import Interval

Fact: TypeAlias = bool | int | float | str | list[str]
Facts: TypeAlias = Mapping[str, Fact]

# Apple, "Respond to thermal state changes": at `fair` fans may run, above it clocks drop.
COOL = "nominal"
# Harmless reasons for an NVIDIA GPU's clock below its maximum.
HARMLESS = ("idle", "application clocks")
# A previous run contributes about one runnable process for each core to the load average.
CROWDED = 1.5


def list_device_warnings(state: Facts) -> tuple[str, ...]:
    """Return the warnings for a `Device.state()`, each with its likely effect and remedy."""
    found = []
    if state.get("low_power_mode"):
        found.append(
            "Low Power Mode is on, which makes the GPU about 30 % slower; turn it off in System "
            "Settings > Battery and run again"
        )
    thermal = state.get("thermal_state", COOL)
    if thermal != COOL:
        found.append(
            f"the machine is hot (thermal state {thermal}), so that its GPU may run at a lower "
            "clock; let it cool down, close other programs and run again"
        )
    held = [each for each in _as_list(state.get("throttle_reasons")) if each not in HARMLESS]
    if held:
        found.append(
            f"the GPU holds its clock back ({', '.join(held)}), so that times are longer and may "
            "scatter; let it cool down, or see to its power, and run again"
        )
    tools = _as_list(state.get("metal_tools"))
    if tools:
        found.append(
            f"{', '.join(tools)} is set, with which Metal checks, captures or draws what it runs, "
            "so that times are longer; unset it and run again"
        )
    return tuple(found)


def _as_list(fact: Fact | None) -> list[str]:
    """Return a fact that is a list; an empty list for anything else."""
    return fact if isinstance(fact, list) else []


def warn_of_load(load: float, cores: int) -> str | None:
    """Return the warning for a load average on `cores`; None if the load is acceptable."""
    if load <= CROWDED * cores:
        return None
    return (
        f"other programs keep this machine busy (load {load:.1f} on {cores} cores), so that times "
        "will scatter and verdicts take longer; close them, or wait, and run again"
    )


# Bytes that a kernel requests, counted in its source, with the bytes that its task declares.


@dataclass(frozen=True, slots=True)
class CountedBytes:
    """Bytes of device memory in one pass at `size`, of all dispatches.

    `read` and `written` are the bytes that threads request. `unique_read` and `unique_written` are
    sums over dispatches of bytes that are read or written at least once. `declared` is the minimum
    of bytes that must move. `timed` is whether `size` is the size that was timed.
    """

    size: str
    timed: bool
    read: int
    written: int
    unique_read: int
    unique_written: int
    declared: int

    @property
    def ratio(self) -> float:
        """Bytes requested / bytes declared; NaN if none are declared."""
        return (self.read + self.written) / self.declared if self.declared else float("nan")


# Values of a kernel's tunables that a search found to be the best on one device.


def format_tunables(values: Mapping[str, int]) -> str:
    """Return ``TG = 128, KEEP = 4``."""
    return ", ".join(f"{name} = {value}" for name, value in values.items())


@dataclass(frozen=True, slots=True)
class Tuning:
    """The result of `metalbench tune` for one kernel, with the hash of its file and headers.

    `engine` is the execution mode of the cpu device, empty for a GPU: the best values differ much.
    `ratio` is the time of the defaults over that of `values`; None if nothing was faster than the
    defaults, which then are `values`. `candidates` is the number of candidates tried, `found_at` an
    instant, ISO 8601 in UTC.
    """

    task: str
    dtype: str
    size: str
    source_hash: str
    engine: str
    values: Mapping[str, int]
    ratio: Interval | None
    candidates: int
    found_at: str

    def __str__(self) -> str:
        """Return the origin of the values as a phrase for reports."""
        of = f"of {self.candidates} candidates on {self.found_at[:10]} at size {self.size}"
        if self.ratio is None:
            return f"the defaults, the best {of}"
        return f"the best {of}, {self.ratio.value:.2f} times as fast as the defaults"


# The result of one kernel: the request, its correctness and its times.

# Imported at run time: results from other processes are decoded by their declared types.


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
        return find_kind(self.kind).is_simulated


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
