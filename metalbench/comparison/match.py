"""A contest of two kernels that another process is told of, and what has become of it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING, Protocol

from metalbench.comparison.head_to_head import Contest, WrongKernelError, compete
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
    """A contest by the task's file instead of the task itself, which no message can hold.

    `after` is verified as `metalbench run` does if `thorough`, else at the size that is timed and
    `also_sizes`, and likewise `before` unless that is known to be right. Fields are as a contest's.
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
        """Load the task; raises TaskError if it cannot be."""
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
class Outcome:
    """What a match came to: a measurement with `after` as its candidate, or what went wrong.

    `wrong` is what the kernel is called that was found not to be correct; None where that cannot be
    told, as of a process that died. `measured_from` and `measured_to` are instants of the system's
    monotonic clock in seconds, between which was sampled; None where nothing was.
    """

    device: DeviceFacts
    failure: Failure | None = None
    measurement: Measurement | None = None
    measured_from: float | None = None
    measured_to: float | None = None
    notes: tuple[str, ...] = ()
    wrong: str | None = None


class Players(Protocol):
    """Where matches are played: `metalbench.isolation.Workers`, or another machine."""

    def play(self, device: DeviceFacts, match: Match, observer: Observer) -> Outcome:
        """Verify and time a match's candidate."""


def outcome_of(players: Players, device: DeviceFacts, match: Match, observer: Observer) -> Outcome:
    """Have a match played; once more if memory ran out, which others may have used up."""
    outcome = players.play(device, match, observer)
    failure = outcome.failure
    if failure is not None and Kind(failure.kind) is Kind.OUT_OF_MEMORY:
        return players.play(device, match, observer)
    return outcome


def measurement_of(match: Match, outcome: Outcome) -> Measurement:
    """What a match has measured; raises WrongKernelError if something went wrong."""
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
) -> Outcome:
    """Verify `after` of a match, and time it in pairs with `before`.

    `wait_until_quiet` is called before measuring: it returns when nothing else keeps the machine
    busy. What is wrong with the kernel is in the outcome; raises MachineError if the machine is at
    fault, Disturbed if the system has ended a run for what others did, and DeclarationError if the
    task is wrong.
    """
    return _Play(device, match.contest(), observer, wait_until_quiet).go()


def precompile(device: Device, match: Match, *, checked: bool) -> None:
    """Compile into the cache what `play` will need; its errors are `play`'s to tell."""
    with contextlib.suppress(Exception):
        compile_kernel(
            device,
            match.after,
            match.entry.task,
            dtype_name=match.dtype,
            tunables=match.tunables[1],
            checked=checked,
        )


class _Play:
    """One go at a match, which knows at what stage it is."""

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

    def go(self) -> Outcome:
        measured: Measurement | None = None
        failure: Failure | None = None
        wrong: str | None = None
        try:
            measured = compete(
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
            # What is wrong with the kernel's own declarations is a finding, and no such error.
            if isinstance(error, DeclarationError) or not isinstance(error, MetalBenchError):
                raise
            failure = self._failure(error)
            wrong = error.name if isinstance(error, WrongKernelError) else None
        facts = device_facts(self._device)
        return Outcome(facts, failure, measured, self._from, self._to, wrong=wrong)

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
