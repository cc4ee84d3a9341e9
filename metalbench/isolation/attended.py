"""Handle of a worker in the process of the run: its process, messages and limits."""

from __future__ import annotations

from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Any

from metalbench.errors import EncodingError, MachineError
from metalbench.isolation import death
from metalbench.isolation.channel import Channel
from metalbench.isolation.limits import Limits
from metalbench.isolation.memory import read_resident_bytes
from metalbench.isolation.process import Process

if TYPE_CHECKING:
    from metalbench.comparison.match import Match, MatchOutcome
    from metalbench.isolation.channel import Message
    from metalbench.result import Case, DeviceFacts, Failure, Result
    from metalbench.run.stages import Stage
    from metalbench.run.trial import Trial

WORKER = "metalbench.isolation.worker"
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

    def __init__(self, device: str, trial: Trial | None = None) -> None:
        self.process = Process(device, worker=WORKER, channel=Channel.for_run)
        self._open = self._ready = False
        # A message that arrived during preparation and was not returned yet.
        self._early_message: Message | None = None
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
                    self._early_message = message
                    return

    def receive(self, limits: Limits) -> Message:
        """Wait for the next message about the trial.

        Raises WorkerExited if the worker dies or exceeds its limits, WorkerError if it never opened
        its device.
        """
        if self._early_message is not None:
            return self._early_message
        while True:
            self._check_limits(limits)
            try:
                if not self.process.channel.wait_for_message(self._poll_interval_s):
                    continue
                message = self.process.channel.receive()
            except (EOFError, OSError):
                raise self._make_end_error() from None
            except EncodingError as error:
                raise death.make_protocol_error(str(error)) from error
            if self._handle_message(message):
                self._last_message = monotonic()
                return message

    def make_failed_result(self, device: DeviceFacts, ended: death.WorkerExited) -> Result:
        """Return the result of a trial whose process has ended."""
        from metalbench.result import Result, Status
        from metalbench.run.trial import Trial, describe_case

        assert isinstance(self._job, Trial)
        return Result(
            case=self._case or describe_case(self._job, None, device),
            device=device,
            status=Status.FAILED,
            failures=(self._make_failure(ended),),
            seconds=monotonic() - self._start,
        )

    def make_failed_outcome(self, device: DeviceFacts, ended: death.WorkerExited) -> MatchOutcome:
        """Return the outcome of a match whose process has ended."""
        from metalbench.comparison.match import MatchOutcome

        return MatchOutcome(device, self._make_failure(ended))

    def _make_failure(self, ended: death.WorkerExited) -> Failure:
        from metalbench.result import Failure
        from metalbench.run.stages import Stage

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
            raise death.make_timeout_error(limits.seconds)
        if now - self._last_check >= self._poll_interval_s:
            self._last_check = now
            used = read_resident_bytes(self.process.number, children=not self._is_measuring)
            if used > limits.memory_bytes:
                raise death.make_memory_error(used, limits.memory_bytes)

    def _make_end_error(self) -> Exception:
        code = self.process.wait_for_exit()
        words = self.process.read_output_tail()
        return (
            death.make_exit_error(code, words)
            if self._open
            else death.make_start_error(code, words)
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
