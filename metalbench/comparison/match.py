"""A contest of two kernels as a message for another process, and its outcome."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING, Protocol

from metalbench.comparison.head_to_head import Contest, WrongKernelError, run_contest
from metalbench.errors import (
    DeclarationError,
    Disturbed,
    MetalBenchError,
    find_machine_error,
)
from metalbench.kernel import Kernel
from metalbench.kernel.library import Entry
from metalbench.kernel.prepare import compile_kernel
from metalbench.measure import Measurement, Plan
from metalbench.result import DeviceFacts, Failure
from metalbench.run.observed import device_facts
from metalbench.run.stages import Observer, Stage
from metalbench.verify import Kind
from metalbench.verify.faults import make_finding

if TYPE_CHECKING:
    from metalbench._core import Device


@dataclass(frozen=True)
class Match:
    """A contest in a form that can be sent: with the task's file in place of the task.

    With `thorough`, `after` is verified as `metalbench run` does, else at the timed size and
    `also_sizes`; `before` likewise, unless it is known to be correct. Fields are as in `Contest`.
    """

    entry: Entry
    before: Kernel
    after: Kernel
    names: tuple[str, str]
    dtype: str = "float32"
    size: str | None = None
    plan: Plan = field(default_factory=Plan)
    tunables: tuple[Mapping[str, int], Mapping[str, int]] = ({}, {})
    knows_before: bool = True
    also_sizes: tuple[str, ...] = ()
    thorough: bool = True

    def contest(self) -> Contest:
        """Load the task; raises TaskError if that fails."""
        return Contest(
            self.entry.task,
            self.before,
            self.after,
            self.names,
            dtype=self.dtype,
            size=self.size,
            plan=self.plan,
            tunables=self.tunables,
            knows_before=self.knows_before,
            also_sizes=self.also_sizes,
            thorough=self.thorough,
        )


@dataclass(frozen=True, slots=True)
class MatchOutcome:
    """The outcome of a match: a measurement with `after` as its candidate, or a failure.

    `wrong` is the name of the kernel that was found to be incorrect; None if that is unknown, as
    after the death of a process. `measured_from` and `measured_to` are instants of the system's
    monotonic clock in seconds, around the sampling; None without sampling.
    """

    device: DeviceFacts
    failure: Failure | None = None
    measurement: Measurement | None = None
    measured_from: float | None = None
    measured_to: float | None = None
    notes: tuple[str, ...] = ()
    wrong: str | None = None


class MatchRunner(Protocol):
    """A place that runs matches: `metalbench.isolation.Workers`, or another machine."""

    def play(self, device: DeviceFacts, match: Match, observer: Observer) -> MatchOutcome:
        """Verify and time a match's candidate."""


def run_match(
    players: MatchRunner, device: DeviceFacts, match: Match, observer: Observer
) -> MatchOutcome:
    """Run a match; repeat it once if memory ran out, which other processes may have used."""
    outcome = players.play(device, match, observer)
    failure = outcome.failure
    if failure is not None and Kind(failure.kind) is Kind.OUT_OF_MEMORY:
        return players.play(device, match, observer)
    return outcome


def require_measurement(match: Match, outcome: MatchOutcome) -> Measurement:
    """Return the measurement of a match; raises WrongKernelError if there was a failure."""
    failure = outcome.failure
    if failure is not None:
        suspects = match.names[1:] if match.knows_before else match.names
        raise WrongKernelError(
            outcome.wrong or " or ".join(suspects), failure.message, Kind(failure.kind)
        )
    assert outcome.measurement is not None
    return outcome.measurement


def play(
    device: Device,
    match: Match,
    observer: Observer,
    *,
    wait_until_quiet: Callable[[], None] | None = None,
) -> MatchOutcome:
    """Verify `after` of a match, and time it in pairs with `before`.

    `wait_until_quiet` is called before measuring, and returns when the machine is quiet. A fault of
    the kernel is in the outcome. Raises MachineError if the machine is at fault, Disturbed if the
    system ended a run because of other processes, and DeclarationError if the task is wrong.
    """
    return _MatchRun(device, match.contest(), observer, wait_until_quiet).run()


def precompile(device: Device, match: Match, *, checked: bool) -> None:
    """Compile into the cache for `play`; errors are left to `play`."""
    with contextlib.suppress(Exception):
        compile_kernel(
            device,
            match.after,
            match.entry.task,
            dtype_name=match.dtype,
            tunables=match.tunables[1],
            checked=checked,
        )


class _MatchRun:
    """One run of a match, with its present stage."""

    def __init__(
        self,
        device: Device,
        contest: Contest,
        observer: Observer,
        wait_until_quiet: Callable[[], None] | None,
    ) -> None:
        self._device = device
        self._contest = contest
        self._observer = observer
        self._wait_until_quiet = wait_until_quiet
        self._stage = Stage.COMPILE
        self._from: float | None = None
        self._to: float | None = None

    def run(self) -> MatchOutcome:
        measured: Measurement | None = None
        failure: Failure | None = None
        wrong: str | None = None
        try:
            measured = run_contest(
                self._device,
                self._contest,
                enter=self._enter,
                progress=self._observer.stage_progress,
            )
        except Disturbed:
            raise
        except Exception as error:
            machine = find_machine_error(error)
            if machine is not None:
                raise machine from error
            # A fault of the kernel's declarations is a finding, not a DeclarationError.
            if isinstance(error, DeclarationError) or not isinstance(error, MetalBenchError):
                raise
            failure = self._failure(error)
            wrong = error.name if isinstance(error, WrongKernelError) else None
        facts = device_facts(self._device)
        return MatchOutcome(facts, failure, measured, self._from, self._to, wrong=wrong)

    def _failure(self, error: MetalBenchError) -> Failure:
        if isinstance(error, WrongKernelError):
            return Failure(self._stage.value, str(error.kind), error.finding)
        found = make_finding(error)
        return Failure(self._stage.value, str(found.kind), found.message)

    def _enter(self, stage: Stage) -> None:
        if self._stage is Stage.MEASURE:
            self._to = monotonic()
        if stage is Stage.MEASURE and self._wait_until_quiet is not None:
            self._wait_until_quiet()
        self._observer.stage_started(stage)
        self._stage = stage
        if stage is Stage.MEASURE:
            self._from = monotonic()
