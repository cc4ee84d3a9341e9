"""Run many kernels: each is verified, timed, stored and reported before the next begins."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from metalbench.errors import DeclarationError, ResultTooLargeError, find_machine_error
from metalbench.run.trial import Observer, Stage, Trial, describe_case, device_facts
from metalbench.store.environment import Environment
from metalbench.store.result import DeviceFacts, Result, Status

if TYPE_CHECKING:
    from metalbench._core import Device
    from metalbench.store.store import Store


# Trials that are announced to `Attempts` before their turn, so that their builds can be prepared.
AHEAD = 2
# Characters of the source to store of a result that is too large for the store.
MOST_SOURCE = 10_000


@dataclass(frozen=True)
class Outcome:
    """The outcome of a run.

    `ended` is 'finished', 'interrupted' or 'stopped' (by --fail-fast). `number` is the number of
    the run in the store, None if it was not stored. `untried` has the reasons why kernels could not
    be tried, for faults that are not theirs.
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
    """A place where kernels are tried one after the other."""

    def attempt(
        self, device: DeviceFacts, trial: Trial, following: Sequence[Trial], observer: Observer
    ) -> Result:
        """Take one kernel through all stages but the recording; `following` come next."""


def run(
    device: Device | DeviceFacts,
    trials: Sequence[Trial],
    store: Store,
    environment: Environment,
    observer: Observer,
    *,
    recorded_options: Mapping[str, Any],
    fail_fast: bool = False,
    attempts: AbstractContextManager[Attempts] | None = None,
) -> Outcome:
    """Try the kernels in order. Each result is in `store` before the next kernel begins.

    `attempts` says where kernels are tried, such as in worker processes or on another machine; by
    default in this process. A kernel whose task is wrong has no result and does not stop the run.
    Ctrl-C ends the run with the results so far. `recorded_options` are stored with the run.

    Raises
    ------
    StoreError
        If a result cannot be stored. Earlier results are stored.
    MachineError
        If the machine is at fault: a process cannot start, or memory or disk do not suffice.
    """
    facts = device_facts(device)
    number = store.begin_run(recorded_options, facts, environment)
    results: list[Result] = []
    untried: list[str] = []
    ended = "finished"
    # Kernels with several sizes are shown with the size.
    several = Counter((each.entry.name, each.dtype) for each in trials)
    try:
        with attempts or _try_in_process(device) as place:
            for index, trial in enumerate(trials):
                shown = trial.entry.name
                if trial.size and several[shown, trial.dtype] > 1:
                    shown = f"{shown} {trial.size}"
                observer.kernel_started(index, len(trials), shown, trial.dtype)
                following = trials[index + 1 : index + 1 + AHEAD]
                # Compile, verify, measure and verify again.
                result = None
                try:
                    result = place.attempt(facts, trial, following, observer)
                except DeclarationError as error:
                    untried.append(str(error))
                except Exception as error:
                    machine = find_machine_error(error)
                    if machine is not None:
                        raise machine from error
                    # An error that a candidate's file causes fails this kernel, and no other.
                    result = _make_failed_result(trial, facts, error)
                # Record. A result that cannot be stored is reported nevertheless.
                if result is not None:
                    observer.stage_started(Stage.RECORD)
                    try:
                        result = _store_result(store, number, result)
                    finally:
                        results.append(result)
                        observer.kernel_finished(result)
                is_correct = result is not None and result.status is Status.CORRECT
                if fail_fast and not is_correct:
                    ended = "stopped"
                    break
    except KeyboardInterrupt:
        ended = "interrupted"
    store.finish_run(number, ended)
    return Outcome(tuple(results), ended, number, tuple(untried))


def _store_result(store: Store, number: int, result: Result) -> Result:
    """Store a result and return it; for a result that is too large, a failure that says so."""
    try:
        store.record(number, result)
    except ResultTooLargeError as error:
        result = _shorten_result(result, error)
        store.record(number, result)
    return result


def _make_failed_result(trial: Trial, device: DeviceFacts, error: Exception) -> Result:
    """Return the result of a trial that ended with an error outside of its process."""
    from metalbench.run.attempt import make_failure  # imports verify, which is slow

    failure = make_failure(error, Stage.COMPILE.value)
    case = describe_case(trial, None, device)
    return Result(case=case, device=device, status=Status.FAILED, failures=(failure,))


def _shorten_result(result: Result, error: Exception) -> Result:
    """Return a failure in place of a result that is too large for the store."""
    from metalbench.run.attempt import make_failure  # imports verify, which is slow

    case = result.case
    case = replace(
        case, source=case.source[:MOST_SOURCE], description=case.description[:MOST_SOURCE]
    )
    failure = make_failure(error, Stage.RECORD.value)
    return Result(
        case=case,
        device=result.device,
        status=Status.FAILED,
        failures=(failure,),
        seconds=result.seconds,
    )


def _try_in_process(device: Device | DeviceFacts) -> _InProcess:
    if isinstance(device, DeviceFacts):
        raise DeclarationError(f"attempts: expected where kernels run on {device.name}, got None")
    return _InProcess(device)


class _InProcess:
    """Tries kernels in this process, for debuggers. A kernel can affect later ones.

    The builds of the next kernels are compiled in the background, never during a measurement.
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
        # Imported here because runs in worker processes do not need it.
        from metalbench.run.attempt import attempt

        if trial.kernel.is_python:
            raise DeclarationError(
                f"[{trial.entry.name}] {trial.kernel.path.name}: expected a separate process for a "
                "Python candidate, got --in-process; leave out --in-process"
            )
        # The checked build of this kernel is needed first, after its plain one.
        jobs = [(trial, True), *((each, kind) for each in following for kind in (False, True))]
        self._pending = [
            self._executor.submit(precompile, self._device, each, checked=checked)
            for each, checked in jobs
        ]
        return attempt(self._device, trial, observer, wait_until_quiet=self._wait_for_builds)

    def _wait_for_builds(self) -> None:
        wait(self._pending)


# Build kernels and MLX's compiled forms before their turn.


def precompile(device: Device, trial: Trial, *, checked: bool) -> None:
    """Compile a kernel into the build cache. `attempt` compiles again and reports errors."""
    if not trial.kernel.is_python and (not checked or needs_checked_build(device, trial)):
        with contextlib.suppress(Exception):
            builds = trial.builds(device)
            _ = builds.checked if checked else builds.plain


def needs_checked_build(device: Device, trial: Trial) -> bool:
    """Return whether an attempt runs the checked build: the same code may have passed before.

    A GPU's kernel is always checked at small sizes before it runs.
    """
    if trial.recheck or not device.checked_builds:
        return True
    from metalbench.verify import CheckedPass  # is slow to import

    with contextlib.suppress(Exception):  # `attempt` reports errors
        return CheckedPass(trial.builds(device)).load_note() is None
    return True


def prepare_reference(device: Device, trial: Trial) -> None:
    """Let MLX compile the reference of a trial. `attempt` reports errors."""
    from metalbench.reference.chain import build_forms  # imports MLX

    if trial.timed and trial.broken is None:
        with contextlib.suppress(Exception):
            build_forms(trial.task, trial.dtype, kind=device.kind)
