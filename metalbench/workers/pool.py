"""Handle of a worker in the process of the run: its process, messages and limits."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Any

from metalbench.devices import find_kind
from metalbench.errors import DeclarationError, Disturbed, EncodingError, MachineError
from metalbench.finding_kinds import Kind
from metalbench.safe_text import terminal_text
from metalbench.sandbox import exit_status
from metalbench.sandbox.process import Process
from metalbench.sandbox.resources import Limits, read_resident_bytes
from metalbench.workers.channel import Channel
from metalbench.workers.needed import find_preload, resolve_kind

if TYPE_CHECKING:
    from metalbench.compare.head_to_head import Match, MatchOutcome
    from metalbench.run.trial import Observer, Stage, Trial
    from metalbench.store.result import Case, DeviceFacts, Failure, Result
    from metalbench.workers.channel import Message


WORKER = "metalbench.workers.worker"
# Time between two checks of a worker's limits. While it measures, checks are rare and leave out
# its children.
SECONDS_BETWEEN_CHECKS = 0.1
SECONDS_BETWEEN_CHECKS_MEASURING = 0.5
# Longest time that a measurement waits until the next worker is ready.
SECONDS_FOR_QUIET = 30.0


class WorkerHandle:
    """A worker process and the state of its only trial, which it prepares if `trial` is given.

    `device` is an argument of `_core.open`.
    """

    # Whether the message that `receive` returned last was answered before its turn.
    _is_answered = False

    def __init__(self, device: str, trial: Trial | None = None) -> None:
        preload = find_preload(resolve_kind(device))
        self.process = Process(device, worker=WORKER, channel=Channel.for_run, preload=preload)
        self._open = self._ready = False
        # Messages that have not been returned yet, and whether each was answered already.
        self._early: deque[tuple[Message, bool]] = deque()
        self._early_end: Exception | None = None
        self._has_begun = False
        self.prepared_for = trial
        self._stage: Stage | None = None
        self._case: Case | None = None
        self._job: Trial | Match | None = trial
        self._start = self._last_check = self._last_message = monotonic()
        if trial is not None:
            self._send("prepare", trial)

    def begin(self, job: Trial | Match) -> None:
        """Start the job. It equals the prepared trial, if there is one."""
        from metalbench.run.trial import Trial

        if self._has_begun:
            return
        self._has_begun = True
        self._start, self._job = monotonic(), job
        if self.prepared_for is not None:
            self._send("begin")
        else:
            self._send("try" if isinstance(job, Trial) else "play", job)

    def wait_until_open(self) -> str:
        """Wait until the worker has opened its device, and return how its network is disabled.

        Raises MachineError if the device cannot be opened.
        """
        try:
            name, said = self.process.channel.receive()
        except (EOFError, OSError):
            raise self._make_end_error() from None
        if name == "machine":
            raise MachineError(said)
        return str(said)

    def let_continue(self) -> None:
        """Let the worker continue. The time that it waited does not count towards its limit."""
        if not self._is_answered:
            self._start += monotonic() - self._last_message
            self._send("go on")

    def wait_until_ready(self) -> None:
        """Wait until preparation has ended, has failed, or takes longer than SECONDS_FOR_QUIET."""
        end = monotonic() + SECONDS_FOR_QUIET
        with suppress(EOFError, OSError, EncodingError):
            while not self._ready and self.process.channel.wait_for_message(
                max(0.0, end - monotonic())
            ):
                message = self.process.channel.receive()
                if self._handle_message(message):
                    self._early.append((message, False))
                    return

    def run_ahead(self, limits: Limits) -> None:
        """Let the prepared worker run its trial up to the measurement, while another one is judged.

        Handles the messages that have arrived, and waits for none. `receive` returns them later,
        and raises the errors.
        """
        channel = self.process.channel
        try:
            while self._can_run_ahead and channel.wait_for_message(0.0):
                message = channel.receive()
                if not self._handle_message(message):
                    continue
                self._last_message = monotonic()
                name, value = message
                goes_on = name in ("case", "detail", "progress") or (
                    name == "stage" and value.name != "MEASURE"
                )
                self._early.append((message, goes_on))
                if goes_on and name != "detail":
                    self._send("go on")
            if self._can_run_ahead and self._ready:
                assert self.prepared_for is not None
                self.begin(self.prepared_for)
            if self._can_run_ahead and self._has_begun:
                self._check_limits(limits)
        except (EOFError, OSError):
            self._early_end = self._make_end_error()
        except EncodingError as error:
            self._early_end = exit_status.make_protocol_error(str(error))
        except exit_status.WorkerExited as ended:
            self._early_end = ended

    @property
    def _can_run_ahead(self) -> bool:
        """Whether nothing has arrived that only its turn can answer."""
        return self._early_end is None and all(answered for _, answered in self._early)

    def receive(self, limits: Limits, ahead: WorkerHandle | None = None) -> Message:
        """Wait for the next message about the trial; meanwhile let the worker `ahead` run ahead.

        Raises WorkerExited if the worker dies or exceeds its limits, WorkerError if it never opened
        its device.
        """
        if self._early:
            message, self._is_answered = self._early.popleft()
            return message
        if self._early_end is not None:
            raise self._early_end
        self._is_answered = False
        while True:
            self._check_limits(limits)
            try:
                if not self._wait_for_message(limits, ahead):
                    continue
                message = self.process.channel.receive()
            except (EOFError, OSError):
                raise self._make_end_error() from None
            except EncodingError as error:
                raise exit_status.make_protocol_error(str(error)) from error
            if self._handle_message(message):
                self._last_message = monotonic()
                return message

    def _wait_for_message(self, limits: Limits, ahead: WorkerHandle | None) -> bool:
        """Return whether a message or the end has arrived; wait for the usual interval at most."""
        channel, seconds = self.process.channel, self._poll_interval_s
        if ahead is None:
            return channel.wait_for_message(seconds)
        ahead.run_ahead(limits)
        if not ahead._can_run_ahead:
            return channel.wait_for_message(seconds)
        return channel.wait_for_either(ahead.process.channel, seconds)

    def make_failed_result(self, device: DeviceFacts, ended: exit_status.WorkerExited) -> Result:
        """Return the result of a trial whose process has ended."""
        from metalbench.run.trial import Trial, describe_case
        from metalbench.store.result import Result, Status

        assert isinstance(self._job, Trial)
        return Result(
            case=self._case or describe_case(self._job, None, device),
            device=device,
            status=Status.FAILED,
            failures=(self._make_failure(ended),),
            seconds=monotonic() - self._start,
        )

    def make_failed_outcome(
        self, device: DeviceFacts, ended: exit_status.WorkerExited
    ) -> MatchOutcome:
        """Return the outcome of a match whose process has ended."""
        from metalbench.compare.head_to_head import MatchOutcome

        return MatchOutcome(device, self._make_failure(ended))

    def _make_failure(self, ended: exit_status.WorkerExited) -> Failure:
        from metalbench.run.trial import Stage
        from metalbench.store.result import Failure

        stage = (self._stage or Stage.COMPILE).value
        return Failure(stage, str(ended.kind), ended.message)

    def _handle_message(self, message: Message) -> bool:
        """Store the message's value, and return whether the caller needs the message."""
        name, value = message
        if name == "open":
            self._open = True
        elif name == "ready":
            self._ready = True
        elif name == "case":
            self._case = value
        elif name == "stage":
            self._stage = value
        return name not in ("open", "ready")

    def _check_limits(self, limits: Limits) -> None:
        now = monotonic()
        if now - self._start > limits.seconds:
            raise exit_status.make_timeout_error(limits.seconds)
        if now - self._last_check >= self._poll_interval_s:
            self._last_check = now
            used = read_resident_bytes(self.process.number, children=not self._is_measuring)
            if used > limits.memory_bytes:
                raise exit_status.make_memory_error(used, limits.memory_bytes)

    def _make_end_error(self) -> Exception:
        code = self.process.wait_for_exit()
        words = self.process.read_output_tail()
        return (
            exit_status.make_exit_error(code, words)
            if self._open
            else exit_status.make_start_error(code, words)
        )

    @property
    def _is_measuring(self) -> bool:
        return self._stage is not None and self._stage.name == "MEASURE"

    @property
    def _poll_interval_s(self) -> float:
        return SECONDS_BETWEEN_CHECKS_MEASURING if self._is_measuring else SECONDS_BETWEEN_CHECKS

    def _send(self, name: str, value: Any = None) -> None:
        # `receive` reports the end of the worker, with the reason.
        with suppress(OSError):
            self.process.channel.send(name, value)


# Prepare workers for the next kernels while the current kernel is not measured.

# Number of kernels to prepare where preparation can pause. While one kernel waits for its compiler,
# the other uses the core, and a long build starts early.
MAX_PREPARED = 2


class WorkerPool:
    """Workers on one device, in the order of their trials. The first starts with the pool.

    `device` is an argument of `_core.open`.
    """

    def __init__(self, device: str) -> None:
        self._device = device
        self._workers = deque([WorkerHandle(device)])

    def take(self, job: Trial | Match) -> WorkerHandle:
        """Remove and return the worker for `job`, or start one. End the workers for other jobs."""
        while self._workers:
            worker = self._workers.popleft()
            if worker.prepared_for is None or worker.prepared_for == job:
                return worker
            worker.process.end()
        return WorkerHandle(self._device)

    def prepare(self, trials: Sequence[Trial], kind: str) -> None:
        """Start to prepare the first of `trials`, which come next, on a device of this kind."""
        for trial in trials[: MAX_PREPARED if _can_pause(kind) else 1]:
            if all(worker.prepared_for != trial for worker in self._workers):
                self._workers.append(WorkerHandle(self._device, trial))

    def prepare_one(self) -> None:
        """Start a worker without a trial if the pool is empty."""
        if not self._workers:
            self._workers.append(WorkerHandle(self._device))

    def find_prepared(self, job: Trial | None) -> WorkerHandle | None:
        """Return the worker that is prepared for `job`, which comes next; None without one."""
        first = self._workers[0] if self._workers else None
        return first if first and job is not None and first.prepared_for == job else None

    def pause(self, kind: str) -> None:
        """Pause preparation. Where a worker cannot be paused, wait until it is ready."""
        for worker in self._workers:
            if _can_pause(kind):
                worker.process.pause()
            else:
                worker.wait_until_ready()

    def resume(self) -> None:
        """Resume preparation after a pause."""
        for worker in self._workers:
            worker.process.resume()

    def close(self) -> None:
        """End every process."""
        while self._workers:
            self._workers.popleft().process.end()


def _can_pause(kind: str) -> bool:
    """Return whether a worker may be stopped at any point and resumed later.

    A GPU driver may wait for the process. Outside Linux a stopped worker outlives a run that is
    killed.
    """
    return find_kind(kind).is_simulated and sys.platform == "linux"


# Run each kernel in a worker, and prepare the next workers during the checks of this one.

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
        from metalbench.run.budget import check_budget

        # Default sizes of the cpu device fit, and a worker loads their tasks.
        if trial.broken is None and (
            trial.size is not None or not find_kind(device.kind).is_simulated
        ):
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
        died: Callable[[WorkerHandle, exit_status.WorkerExited], Any],
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
                    raise exit_status.WorkerError(
                        f"[isolation] expected the {device.kind} device in the kernel's process, "
                        f"got {result.device.kind}; name one with --device"
                    )
                _pass_on(worker.process.read_output_tail())
                return replace(result, notes=(*notes, *result.notes))
            except Disturbed as error:
                if len(notes) == RERUNS:
                    failed = died(worker, exit_status.WorkerExited(Kind.DISTURBED, str(error)))
                    return replace(failed, notes=notes)
                notes += (
                    "all was run again in a new process, because the system had ended a run: "
                    f"{error}",
                )
            except exit_status.WorkerExited as ended:
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
        from metalbench.run.trial import Stage

        # The checked run of a GPU's kernel precedes its timing.
        after_timing = {Stage.RECHECK, *([Stage.CHECK] if find_kind(kind).is_simulated else [])}
        upcoming = next(iter(following), None)
        # A size that an option names may need more memory than there is: `attempt` estimates that.
        if upcoming is not None and (upcoming.size is not None or not find_kind(kind).is_simulated):
            upcoming = None
        ahead, has_measured = None, False
        worker.begin(job)
        while True:
            name, value = worker.receive(limits, ahead)
            if name in ("result", "outcome"):
                return value
            if name in NO_RESULT:
                raise NO_RESULT[name](value)
            if name == "stage":
                if value is Stage.MEASURE:
                    has_measured = True
                    self._ahead.pause(kind)
                else:
                    self._ahead.resume()
                if value in after_timing:
                    self._ahead.prepare(following, kind)
                # The last checks of this kernel take no times, and neither do the first ones of
                # the next. One that would be timed waits for its turn.
                is_timing_over = value in (Stage.CHECK, Stage.VERIFY_ALL) and has_measured
                ahead = self._ahead.find_prepared(upcoming) if is_timing_over else None
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
