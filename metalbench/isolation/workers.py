"""Run each kernel in a worker, and prepare the next workers during the checks of this one."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any

from metalbench.errors import DeclarationError, Disturbed, MachineError
from metalbench.foreign_text import terminal_text
from metalbench.isolation import death
from metalbench.isolation.ahead import WorkerPool
from metalbench.isolation.attended import WorkerHandle
from metalbench.isolation.limits import Limits
from metalbench.kind import Kind

if TYPE_CHECKING:
    from metalbench.comparison.match import Match, MatchOutcome
    from metalbench.result import DeviceFacts, Result
    from metalbench.run.stages import Observer
    from metalbench.run.trial import Trial

# Messages that end a trial without a fault of the kernel.
NO_RESULT = {"machine": MachineError, "untried": DeclarationError, "disturbed": Disturbed}
# Number of reruns of a disturbed trial.
RERUNS = 2


class Workers:
    """Run each kernel in a separate process. The first process starts with this object.

    `device` is an argument of `_core.open`. As a context manager it ends all processes.
    """

    def __init__(self, device: str, limits: Limits | None = None) -> None:
        self._limits = limits
        self._ahead = WorkerPool(device)

    def __enter__(self) -> Workers:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End every process."""
        self._ahead.close()

    def attempt(
        self, device: DeviceFacts, trial: Trial, following: Sequence[Trial], observer: Observer
    ) -> Result:
        """Run one kernel through all stages except recording, and prepare `following`.

        A process that dies, hangs or exhausts memory gives a failed result. Raises MachineError if
        the machine is the cause, including a process that cannot be started. Raises
        DeclarationError if the task's file is invalid, lacks the size or element type, or exceeds
        the available memory or time.
        """
        from metalbench.run.room import check_budget

        # Default sizes of the cpu device fit, and a worker loads their tasks.
        if trial.broken is None and (trial.size is not None or device.kind != "cpu"):
            self._limits = self._limits or Limits()
            check_budget(trial, device, self._limits)
        result: Result = self._run_job(
            device,
            trial,
            following,
            observer,
            lambda worker, ended: worker.make_failed_result(device, ended),
        )
        return result

    def play(self, device: DeviceFacts, match: Match, observer: Observer) -> MatchOutcome:
        """Verify and time the candidate of a match. Raises as `attempt`.

        A dead process is an outcome too. The process for the next match starts before this returns.
        """
        outcome: MatchOutcome = self._run_job(
            device,
            match,
            (),
            observer,
            lambda worker, ended: worker.make_failed_outcome(device, ended),
        )
        self._ahead.prepare_one()
        return outcome

    def _run_job(
        self,
        device: DeviceFacts,
        job: Trial | Match,
        following: Sequence[Trial],
        observer: Observer,
        died: Callable[[WorkerHandle, death.WorkerExited], Any],
    ) -> Any:
        """Return the result of a job. If its process has ended, return the result of `died`.

        A disturbed job is rerun in a new process, because Metal may ignore the old process for
        minutes. The result's notes report reruns.
        """
        limits = self._limits = self._limits or Limits()
        notes: tuple[str, ...] = ()
        while True:
            worker = self._ahead.take(job)
            try:
                result = self._watch(worker, job, following, observer, limits, kind=device.kind)
                if result.device.kind != device.kind:
                    raise death.WorkerError(
                        f"[isolation] expected the {device.kind} device in the kernel's process, "
                        f"got {result.device.kind}; name one with --device"
                    )
                _pass_on(worker.process.read_output_tail())
                return replace(result, notes=(*notes, *result.notes))
            except Disturbed as error:
                if len(notes) == RERUNS:
                    failed = died(worker, death.WorkerExited(Kind.DISTURBED, str(error)))
                    return replace(failed, notes=notes)
                notes += (
                    "all was run again in a new process, because the system had ended a run: "
                    f"{error}",
                )
            except death.WorkerExited as ended:
                return replace(died(worker, ended), notes=notes)
            except BaseException:
                self.close()
                raise
            finally:
                worker.process.end()
                self._ahead.resume()

    def _watch(
        self,
        worker: WorkerHandle,
        job: Trial | Match,
        following: Sequence[Trial],
        observer: Observer,
        limits: Limits,
        *,
        kind: str,
    ) -> Any:
        from metalbench.run.stages import Stage

        # The checked run of a GPU's kernel precedes its timing.
        after_timing = {Stage.RECHECK, *([Stage.CHECK] if kind == "cpu" else [])}
        worker.begin(job)
        while True:
            name, value = worker.receive(limits)
            if name in ("result", "outcome"):
                return value
            if name in NO_RESULT:
                raise NO_RESULT[name](value)
            if name == "stage":
                if value is Stage.MEASURE:
                    self._ahead.pause(kind)
                else:
                    self._ahead.resume()
                if value in after_timing:
                    self._ahead.prepare(following, kind)
                observer.stage_started(value)
            elif name == "detail":
                observer.stage_detail(value)
                continue
            elif name == "progress":
                observer.stage_progress(value)
            worker.let_continue()


def find_network_isolation(device: str) -> str:
    """Start a worker, and return how its network is disabled; "" if it is not.

    Raises WorkerError if the worker cannot start.
    """
    worker = WorkerHandle(device)
    try:
        return worker.wait_until_open()
    finally:
        worker.process.end()


def _pass_on(words: str) -> None:
    """Print the output of a task's code on standard error."""
    if words:
        print(terminal_text(words), file=sys.stderr, flush=True)
