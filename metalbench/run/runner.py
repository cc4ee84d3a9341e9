"""A run over many kernels: each is tried, recorded and reported before the next begins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from metalbench.errors import DeclarationError, ResultTooLargeError, of_the_machine
from metalbench.result import DeviceFacts, Result, Status
from metalbench.result.environment import Environment
from metalbench.run.observed import device_facts
from metalbench.run.stages import Observer, Stage
from metalbench.run.trial import Trial, case_of

if TYPE_CHECKING:
    from metalbench._core import Device
    from metalbench.store import Store

# So many of the kernels to come are told to the place where they are tried, which may make as many
# ready, or fewer.
COMING = 2
# Of the source of a result that is too large for the store, this much is stored.
MOST_SOURCE = 10_000


@dataclass(frozen=True)
class Outcome:
    """What a run came to. `ended` is 'finished', 'interrupted' or 'stopped' (by --fail-fast).

    `number` is that of the run in the store, None if it was not kept.
    `untried` says of each kernel that could not be tried why, for no fault of its own.
    """

    results: tuple[Result, ...]
    ended: str
    number: int | None = None
    untried: tuple[str, ...] = ()

    @property
    def correct(self) -> bool:
        """Whether every kernel was tried and found correct."""
        right = all(result.status is Status.CORRECT for result in self.results)
        return right and self.ended == "finished" and not self.untried


class Attempts(Protocol):
    """A place where kernels are tried, one after the other."""

    def attempt(
        self, device: DeviceFacts, trial: Trial, following: Sequence[Trial], observer: Observer
    ) -> Result:
        """Take one kernel through all stages but the recording; those in `following` come next."""


def run(
    device: Device | DeviceFacts,
    trials: Sequence[Trial],
    store: Store,
    environment: Environment,
    observer: Observer,
    *,
    options: Mapping[str, Any],
    fail_fast: bool = False,
    attempts: AbstractContextManager[Attempts] | None = None,
) -> Outcome:
    """Try every kernel in turn; each finished result is in `store` before the next begins.

    `attempts` says where: in processes of their own, say, or on another machine, of whose device
    the facts will do; without it all are tried in this process. One whose task is wrong does not
    keep the others from being tried, and has no result. Ctrl-C ends the run with what has finished.

    Raises
    ------
    StoreError
        If a result cannot be kept; those before it are.
    MachineError
        If the machine is at fault: no process can be made ready, memory or disk do not suffice.
    """
    facts = device_facts(device)
    turns = _Turns(store, store.begin_run(options, facts, environment), observer)
    try:
        with attempts or _in_process(device) as place:
            ended = turns.take(place, facts, trials, fail_fast=fail_fast)
    except KeyboardInterrupt:
        ended = "interrupted"
    store.finish_run(turns.number, ended)
    return Outcome(tuple(turns.results), ended, turns.number, tuple(turns.untried))


@dataclass(frozen=True)
class _Turns:
    """The kernels of one run, one after the other, and what has become of those so far."""

    store: Store
    number: int
    observer: Observer
    results: list[Result] = field(default_factory=list)
    untried: list[str] = field(default_factory=list)

    def take(
        self, place: Attempts, device: DeviceFacts, trials: Sequence[Trial], *, fail_fast: bool
    ) -> str:
        """Try them all, with `fail_fast` up to the first that is not correct; how that ended."""
        for index, trial in enumerate(trials):
            self.observer.kernel_started(index, len(trials), trial.entry.name, trial.dtype)
            following = trials[index + 1 : index + 1 + COMING]
            try:
                result = place.attempt(device, trial, following, self.observer)
            except DeclarationError as error:
                self.untried.append(str(error))
                correct = False
            except Exception as error:
                # Whatever a candidate's file makes ours raise: the others are tried nevertheless.
                machine = of_the_machine(error)
                if machine is not None:
                    raise machine from error
                self._record(_failed(trial, device, error))
                correct = False
            else:
                correct = self._record(result).status is Status.CORRECT
            if fail_fast and not correct:
                return "stopped"
        return "finished"

    def _record(self, result: Result) -> Result:
        """Store a result, and return what was stored: a failure for what is too large."""
        self.observer.stage_started(Stage.RECORD)
        try:
            try:
                self.store.record(self.number, result)
            except ResultTooLargeError as error:
                result = _shortened(result, error)
                self.store.record(self.number, result)
        finally:
            # What could not be stored is at least shown.
            self.results.append(result)
            self.observer.kernel_finished(result)
        return result


def _failed(trial: Trial, device: DeviceFacts, error: Exception) -> Result:
    """Make the result of a trial that ended by an error outside of its own process."""
    from metalbench.run.failing import failure_of  # which takes long to import

    failure = failure_of(error, Stage.COMPILE.value)
    case = case_of(trial, None, device)
    return Result(case=case, device=device, status=Status.FAILED, failures=(failure,))


def _shortened(result: Result, error: Exception) -> Result:
    """Make the result that is stored in place of one that is too large."""
    from metalbench.run.failing import failure_of  # which takes long to import

    case = result.case
    case = replace(
        case, source=case.source[:MOST_SOURCE], description=case.description[:MOST_SOURCE]
    )
    failure = failure_of(error, Stage.RECORD.value)
    return Result(
        case=case,
        device=result.device,
        status=Status.FAILED,
        failures=(failure,),
        seconds=result.seconds,
    )


def _in_process(device: Device | DeviceFacts) -> _InProcess:
    if isinstance(device, DeviceFacts):
        raise DeclarationError(f"attempts: expected where kernels run on {device.name}, got None")
    return _InProcess(device)


class _InProcess:
    """Tries kernels in this process, for debuggers; what one does to it reaches the next ones.

    It compiles in the background what comes next, and never while something is measured.
    """

    def __init__(self, device: Device) -> None:
        self._device = device
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="compile")
        self._pending: list[Future[None]] = []

    def __enter__(self) -> _InProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self._executor.shutdown(cancel_futures=True)

    def attempt(
        self, _: DeviceFacts, trial: Trial, following: Sequence[Trial], observer: Observer
    ) -> Result:
        """Take one kernel through all stages but the recording."""
        # Where kernels have processes of their own, this one need not wait for the import.
        from metalbench.run.attempt import attempt

        if trial.kernel.is_python:
            raise DeclarationError(
                f"[{trial.entry.name}] {trial.kernel.path.name}: expected a process of its own for "
                "Python that may be anybody's; leave out --in-process"
            )
        self._compile_ahead(trial, following)
        return attempt(self._device, trial, observer, hush=self._settle)

    def _compile_ahead(self, current: Trial, following: Sequence[Trial]) -> None:
        """Begin with the checked build of `current`, which is needed after its plain one."""
        from metalbench.run.ahead import precompile

        jobs = [(current, True), *((each, kind) for each in following for kind in (False, True))]
        self._pending = [
            self._executor.submit(precompile, self._device, trial, checked=checked)
            for trial, checked in jobs
        ]

    def _settle(self) -> None:
        """Return when nothing is being compiled."""
        wait(self._pending)
