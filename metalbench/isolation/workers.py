"""Workers, one for each kernel, of which the next is made ready while the present one checks."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Any

from metalbench.errors import DeclarationError, EncodingError, MachineError
from metalbench.isolation import death
from metalbench.isolation.channel import Channel
from metalbench.isolation.limits import Limits
from metalbench.isolation.memory import resident_bytes
from metalbench.isolation.process import Process

if TYPE_CHECKING:
    from metalbench.comparison.match import Match, Outcome
    from metalbench.isolation.channel import Message
    from metalbench.result import Case, DeviceFacts, Failure, Result
    from metalbench.run.stages import Observer, Stage
    from metalbench.run.trial import Trial

WORKER = "metalbench.isolation.worker"
# Messages that end a trial for which no kernel is to blame.
NO_RESULT = {"machine": MachineError, "untried": DeclarationError}
# How often a worker is looked at: seldom while it measures, and then not at its children.
SECONDS_BETWEEN_LOOKS = 0.1
SECONDS_BETWEEN_LOOKS_MEASURING = 0.5
# How long a measurement waits at most for the next worker to have been made ready.
SECONDS_FOR_QUIET = 30.0


class Workers:
    """Tries each kernel in a process of its own; the first is being made ready from here on.

    `device` is what `_core.open` takes. As a context it ends all processes at its end.
    """

    def __init__(self, device: str, limits: Limits | None = None) -> None:
        self._device = device
        self._limits = limits
        self._next: _Worker | None = _Worker(device)

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
        if self._next is not None:
            self._next.process.end()
            self._next = None

    def attempt(
        self, device: DeviceFacts, trial: Trial, following: Sequence[Trial], observer: Observer
    ) -> Result:
        """Take one kernel through all stages but the recording, and make the next one ready.

        A process that dies, hangs or eats all memory is a result too. Raises MachineError if the
        machine is at fault, which includes that no process can be made ready, and DeclarationError
        if the task's file is wrong or lacks the size or the element type, or if that is estimated
        to need more memory or time than there is.
        """
        from metalbench.run.room import check_room

        # Sizes for processors fit, and their tasks are loaded where they run.
        if trial.broken is None and (trial.size is not None or device.kind != "cpu"):
            self._limits = self._limits or Limits()
            check_room(trial, device, self._limits)
        result: Result = self._answered(
            device, trial, following, observer, lambda worker, ended: worker.failed(device, ended)
        )
        return result

    def play(self, device: DeviceFacts, match: Match, observer: Observer) -> Outcome:
        """Verify and time a match's candidate; raises as `attempt`, and death is an outcome too.

        The process of the next one is being made ready when this returns.
        """
        outcome: Outcome = self._answered(
            device, match, (), observer, lambda worker, ended: worker.lost(device, ended)
        )
        self._next = self._next or _Worker(self._device)
        return outcome

    def _answered(
        self,
        device: DeviceFacts,
        job: Trial | Match,
        following: Sequence[Trial],
        observer: Observer,
        died: Callable[[_Worker, death.Ended], Any],
    ) -> Any:
        """What comes of a job; if its process is no more what `died` makes of that."""
        limits = self._limits = self._limits or Limits()
        worker, self._next = self._next or _Worker(self._device), None
        try:
            result = self._watch(worker, job, following, observer, limits, kind=device.kind)
            if result.device.kind != device.kind:
                raise death.WorkerError(
                    f"[isolation] expected the {device.kind} device in the kernel's process, got "
                    f"{result.device.kind}; name one with --device"
                )
            _pass_on(worker.process.last_words())
            return result
        except death.Ended as ended:
            return died(worker, ended)
        except BaseException:
            self.close()
            raise
        finally:
            worker.process.end()

    def _watch(
        self,
        worker: _Worker,
        job: Trial | Match,
        following: Sequence[Trial],
        observer: Observer,
        limits: Limits,
        *,
        kind: str,
    ) -> Any:
        from metalbench.run.stages import Stage

        # The checked run of a GPU's kernel comes before its timing.
        after_timing = {Stage.RECHECK, *([Stage.CHECK] if kind == "cpu" else [])}
        worker.begin(job)
        while True:
            name, value = worker.receive(limits)
            if name in ("result", "outcome"):
                return value
            if name in NO_RESULT:
                raise NO_RESULT[name](value)
            if name == "stage":
                if value is Stage.MEASURE and self._next is not None:
                    self._next.settle()
                elif value in after_timing and following and self._next is None:
                    self._next = _Worker(self._device, following[0])
                observer.stage_started(value)
            elif name == "detail":
                observer.stage_detail(value)
                continue
            elif name == "progress":
                observer.stage_progress(value)
            worker.answer()


def network_of_workers(device: str) -> str:
    """Start a worker, and tell by what means its network is cut off ("" if by none).

    Raises WorkerError if it cannot be made ready.
    """
    worker = _Worker(device)
    try:
        return worker.opened()
    finally:
        worker.process.end()


class _Worker:
    """A process and what is known of its one trial."""

    def __init__(self, device: str, trial: Trial | None = None) -> None:
        self.process = Process(device, worker=WORKER, channel=Channel.of_run)
        self._open = self._ready = False
        self._prepares = trial is not None
        self._stage: Stage | None = None
        self._case: Case | None = None
        self._job: Trial | Match | None = trial
        self._start = self._looked = self._told = monotonic()
        if trial is not None:
            self._send("prepare", trial)

    def begin(self, job: Trial | Match) -> None:
        """Let the job begin; it is the trial that was prepared, if one was."""
        from metalbench.run.trial import Trial

        self._start, self._job = monotonic(), job
        if self._prepares:
            self._send("begin")
        else:
            self._send("try" if isinstance(job, Trial) else "play", job)

    def opened(self) -> str:
        """Wait until the worker has opened its device; returns how its network is cut off."""
        try:
            _, means = self.process.channel.receive()
        except (EOFError, OSError):
            raise self._end() from None
        return str(means)

    def answer(self) -> None:
        """Let the worker go on. That it has waited for this side is not its own time."""
        self._start += monotonic() - self._told
        self._send("go on")

    def settle(self) -> None:
        """Return when nothing is being prepared any more, or it takes too long, or has failed."""
        end = monotonic() + SECONDS_FOR_QUIET
        with suppress(EOFError, OSError, EncodingError):
            while not self._ready and self.process.channel.waiting(max(0.0, end - monotonic())):
                self._note(self.process.channel.receive())

    def receive(self, limits: Limits) -> Message:
        """Wait for what the worker tells of its trial.

        Raises Ended if it dies or goes beyond its limits, WorkerError if it never was ready.
        """
        while True:
            self._look(limits)
            try:
                if not self.process.channel.waiting(self._patience):
                    continue
                message = self.process.channel.receive()
            except (EOFError, OSError):
                raise self._end() from None
            except EncodingError as error:
                raise death.garbled(str(error)) from error
            if self._note(message):
                self._told = monotonic()
                return message

    def failed(self, device: DeviceFacts, ended: death.Ended) -> Result:
        """Make the result of a trial whose process is no more."""
        from metalbench.result import Result, Status
        from metalbench.run.trial import Trial, case_of

        assert isinstance(self._job, Trial)
        return Result(
            case=self._case or case_of(self._job, None, device.kind),
            device=device,
            status=Status.FAILED,
            failures=(self._failure(ended),),
            seconds=monotonic() - self._start,
        )

    def lost(self, device: DeviceFacts, ended: death.Ended) -> Outcome:
        """Make the outcome of a match whose process is no more."""
        from metalbench.comparison.match import Outcome

        return Outcome(device, self._failure(ended))

    def _failure(self, ended: death.Ended) -> Failure:
        from metalbench.result import Failure
        from metalbench.run.stages import Stage

        stage = (self._stage or Stage.COMPILE).value
        return Failure(stage, str(ended.kind), ended.message)

    def _note(self, message: Message) -> bool:
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

    def _look(self, limits: Limits) -> None:
        now = monotonic()
        if now - self._start > limits.seconds:
            raise death.over_time(limits.seconds)
        if now - self._looked >= self._patience:
            self._looked = now
            used = resident_bytes(self.process.number, children=not self._measures)
            if used > limits.memory_bytes:
                raise death.over_memory(used, limits.memory_bytes)

    def _end(self) -> Exception:
        code = self.process.code()
        words = self.process.last_words()
        return death.by_itself(code, words) if self._open else death.not_started(code, words)

    @property
    def _measures(self) -> bool:
        return self._stage is not None and self._stage.name == "MEASURE"

    @property
    def _patience(self) -> float:
        return SECONDS_BETWEEN_LOOKS_MEASURING if self._measures else SECONDS_BETWEEN_LOOKS

    def _send(self, name: str, value: Any = None) -> None:
        # That the other side is gone is noticed, with the reason, when it is listened to.
        with suppress(OSError):
            self.process.channel.send(name, value)


def _pass_on(words: str) -> None:
    """Print what a task's code has printed where nobody saw it."""
    if words:
        print(words, file=sys.stderr, flush=True)
