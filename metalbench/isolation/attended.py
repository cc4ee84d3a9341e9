"""A worker as the run sees it: its process, what it has told, and how long it may still take."""

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
    from metalbench.comparison.match import Match, Outcome
    from metalbench.isolation.channel import Message
    from metalbench.result import Case, DeviceFacts, Failure, Result
    from metalbench.run.stages import Stage
    from metalbench.run.trial import Trial

WORKER = "metalbench.isolation.worker"
# How often a worker is looked at: seldom while it measures, and then not at its children.
SECONDS_BETWEEN_CHECKS = 0.1
SECONDS_BETWEEN_CHECKS_MEASURING = 0.5
# How long a measurement waits at most for the next worker to have been made ready.
SECONDS_FOR_QUIET = 30.0


class WorkerHandle:
    """A process and what is known of its one trial, which it makes ready if it is given here.

    `device` is what `_core.open` takes.
    """

    def __init__(self, device: str, trial: Trial | None = None) -> None:
        self.process = Process(device, worker=WORKER, channel=Channel.for_run)
        self._open = self._ready = False
        # What it has said while it was made ready, and is still to be told.
        self._early_message: Message | None = None
        self.prepared_for = trial
        self._stage: Stage | None = None
        self._case: Case | None = None
        self._job: Trial | Match | None = trial
        self._start = self._last_check = self._last_message = monotonic()
        if trial is not None:
            self._send("prepare", trial)

    def begin(self, job: Trial | Match) -> None:
        """Let the job begin; it is the trial that was prepared, if one was."""
        from metalbench.run.trial import Trial

        self._start, self._job = monotonic(), job
        if self.prepared_for is not None:
            self._send("begin")
        else:
            self._send("try" if isinstance(job, Trial) else "play", job)

    def wait_until_open(self) -> str:
        """Wait until the worker has opened its device; returns how its network is cut off.

        Raises MachineError if it cannot be opened.
        """
        try:
            name, said = self.process.channel.receive()
        except (EOFError, OSError):
            raise self._make_end_error() from None
        if name == "machine":
            raise MachineError(said)
        return str(said)

    def let_continue(self) -> None:
        """Let the worker go on. That it has waited for this side is not its own time."""
        self._start += monotonic() - self._last_message
        self._send("go on")

    def wait_until_ready(self) -> None:
        """Return when nothing is being prepared any more, or it takes too long, or has failed."""
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
        """Wait for what the worker tells of its trial.

        Raises Ended if it dies or goes beyond its limits, WorkerError if it never was ready.
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
        """Make the result of a trial whose process is no more."""
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

    def make_failed_outcome(self, device: DeviceFacts, ended: death.WorkerExited) -> Outcome:
        """Make the outcome of a match whose process is no more."""
        from metalbench.comparison.match import Outcome

        return Outcome(device, self._make_failure(ended))

    def _make_failure(self, ended: death.WorkerExited) -> Failure:
        from metalbench.result import Failure
        from metalbench.run.stages import Stage

        stage = (self._stage or Stage.COMPILE).value
        return Failure(stage, str(ended.kind), ended.message)

    def _handle_message(self, message: Message) -> bool:
        """Keep what is for this side only; false for what is only news of the preparation."""
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
        # That the other side is gone is noticed, with the reason, when it is listened to.
        with suppress(OSError):
            self.process.channel.send(name, value)
