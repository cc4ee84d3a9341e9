"""Evaluates samples: several are compiled and verified at a time; who is timed has a machine."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

from metalbench.errors import DeclarationError, MachineError
from metalbench.generations.answers import Unusable
from metalbench.generations.backlog import MOST_LOSSES, Backlog, Work
from metalbench.generations.gate import Passing, Stopped
from metalbench.generations.seats import Seat, SeatLostError, Seats, at_work
from metalbench.generations.trials import Conditions, Job, judged, trial_of, unusable_result
from metalbench.remote.verified_here import NO_FAULT
from metalbench.result import DeviceFacts, Result, Status
from metalbench.run.runner import Attempts
from metalbench.run.trial import Trial
from metalbench.store.evaluations import Judged

# How long those who are at work have to come to the gate when everything is broken off.
SECONDS_TO_STOP = 2.0
# How often one looks for further seats.
SECONDS_BETWEEN_LOOKS = 2.0


@dataclass(frozen=True)
class Done:
    """A job with its result, or with the reason why the task, and not the sample, is at fault.

    `where` is the machine that it was done on, empty where there is but one.
    """

    job: Job
    result: Result | None
    judged: Judged | None
    untried: str = ""
    where: str = ""


@dataclass(frozen=True)
class Lost:
    """A job whose place is gone, for a `reason` that it is not to blame for; it is done again."""

    job: Job
    reason: str
    where: str = ""


class Evaluation:
    """Evaluates jobs in `seats`.

    `record` is called in the thread that calls `run`, for one after the other as they are done;
    no sample is timed meanwhile on the machine that this is.
    """

    def __init__(self, device: DeviceFacts, conditions: Conditions, seats: Seats) -> None:
        self.device = device
        self._conditions = conditions
        self._seats = seats
        self._taken: list[tuple[Seat, threading.Thread]] = []
        self._done: queue.Queue[Done | Lost | BaseException | None] = queue.Queue()

    def run(
        self,
        jobs: Sequence[Job],
        record: Callable[[Done], None],
        lost: Callable[[Lost], None] = lambda each: None,
    ) -> None:
        """Evaluate all jobs; `lost` is called for each that must be done again.

        Raises MachineError if the machine is at fault, and as `record`.
        """
        self._backlog = Backlog(jobs)
        try:
            while self._backlog.unfinished or not self._done.empty():
                self._fill()
                try:
                    done = self._done.get(timeout=SECONDS_BETWEEN_LOOKS)
                except queue.Empty:
                    self._fill()
                    self._expect_somebody()
                    continue
                if isinstance(done, BaseException):
                    raise done
                if isinstance(done, Lost):
                    lost(done)
                elif done is not None:
                    with at_work(self._seats.home):
                        record(done)
        except KeyboardInterrupt:
            self._stop()
            while not self._done.empty():  # done before, and not kept yet
                left = self._done.get()
                if isinstance(left, Done):
                    record(left)
            raise
        finally:
            self._stop()

    def _fill(self) -> None:
        """Let somebody work in each further seat."""
        for seat in self._seats.further():
            thread = threading.Thread(target=self._work, args=(seat,), daemon=True)
            self._taken.append((seat, thread))
            thread.start()

    def _expect_somebody(self) -> None:
        if not any(seat.times and thread.is_alive() for seat, thread in self._taken):
            raise nobody(self.device.kind)

    def _stop(self) -> None:
        self._backlog.stop()
        for seat, _ in self._taken:
            seat.gate.stop()
        self._seats.close()
        for _, thread in self._taken:
            thread.join(SECONDS_TO_STOP)

    def _work(self, seat: Seat) -> None:
        """Take jobs until there are none; a seat that was lost is opened again while it can be."""
        try:
            while self._backlog.unfinished:
                with ExitStack() as stack:
                    with at_work(seat.gate):
                        place = stack.enter_context(seat.open())
                    self._serve(seat, place)
        except (Stopped, SeatLostError):
            pass  # a machine that is gone: others do its work
        except BaseException as error:  # told in the thread that waits for it
            self._done.put(error)
        self._done.put(None)

    def _serve(self, seat: Seat, place: Attempts) -> None:
        while (work := self._backlog.take(times=seat.times)) is not None:
            try:
                with Passing(seat.gate) as passing:
                    done = self._evaluated(seat, place, work, passing)
            except SeatLostError as error:
                if self._backlog.lost(work):
                    self._done.put(Lost(work.job, str(error), seat.where))
                else:
                    why = f"{work.job.sample.name}: lost {MOST_LOSSES} times; at last {error}"
                    self._tell(Done(work.job, None, None, why, seat.where))
                return
            if done is not None:
                self._tell(done)

    def _tell(self, done: Done) -> None:
        self._done.put(done)
        self._backlog.finish()

    def _evaluated(self, seat: Seat, place: Attempts, work: Work, passing: Passing) -> Done | None:
        """What became of a job; None if it was right and is to be timed elsewhere."""
        job = work.job
        try:
            trial = trial_of(job, self._conditions, self.device)
        except Unusable as reason:
            result = unusable_result(job, self._conditions, self.device, reason)
            return Done(job, result, Judged(reason.outcome.value, str(reason)), where=seat.where)
        try:
            result = place.attempt(self.device, self._as_done_in(seat, work, trial), (), passing)
        except DeclarationError as error:
            return Done(job, None, None, str(error), seat.where)
        passing.end()
        if not seat.times:
            if result.status is Status.CORRECT or self._may_be_right(result):
                self._backlog.verified(work, result)
                return None
            result = replace(result, device=self.device)
        elif work.verified is not None:
            before = work.verified
            notes = tuple(dict.fromkeys((*before.notes, *result.notes)))
            result = replace(result, checks=(*before.checks, *result.checks), notes=notes)
        return Done(job, result, judged(result, passing.measured), where=seat.where)

    def _as_done_in(self, seat: Seat, work: Work, trial: Trial) -> Trial:
        """What of a trial is done here: all, all but the timing, or that alone."""
        simulated = self.device.kind == "cpu"
        if not seat.times:
            # Up to the cpu device's own headline: a GPU's takes too long.
            return replace(trial, timed=False, size=trial.size if simulated else None)
        right = work.verified is not None and work.verified.status is Status.CORRECT
        return replace(trial, verified=True) if right and simulated else trial

    def _may_be_right(self, result: Result) -> bool:
        gpu = self.device.kind != "cpu"
        return gpu and {each.kind for each in result.failures} <= NO_FAULT


def nobody(device: str) -> MachineError:
    """What is raised where no seat is left that can time."""
    return MachineError(
        f"[cluster] no machine is left that owns the {device} device; what was done is kept, and "
        "the same command goes on when there is one"
    )
