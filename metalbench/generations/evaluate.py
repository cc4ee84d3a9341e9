"""Evaluates samples: several are compiled and verified at a time, and one is timed, alone."""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from metalbench.errors import DeclarationError
from metalbench.generations.answers import Unusable
from metalbench.generations.gate import Gate, Passing, Stopped
from metalbench.generations.trials import Conditions, Job, judged, trial_of, unusable_result
from metalbench.result import DeviceFacts, Result
from metalbench.run.runner import Attempts
from metalbench.store.evaluations import Judged

# How long those who are at work have to come to the gate when everything is broken off.
SECONDS_TO_STOP = 2.0


@dataclass(frozen=True)
class Done:
    """A job with its result, or with the reason why the task, and not the sample, is at fault."""

    job: Job
    result: Result | None
    judged: Judged | None
    untried: str = ""


class Evaluation:
    """Evaluates jobs with `workers` at a time, each with a place of its own where kernels run.

    `record` is called in the thread that calls `run`, for one after the other as they are done;
    no sample is timed meanwhile.
    """

    def __init__(
        self,
        device: DeviceFacts,
        conditions: Conditions,
        place: Callable[[], AbstractContextManager[Attempts]],
        workers: int = 1,
    ) -> None:
        self.device = device
        self._conditions = conditions
        self._place = place
        self._workers = workers
        self._gate = Gate()
        self._jobs: deque[Job] = deque()
        self._done: queue.Queue[tuple[Done | BaseException | None, threading.Event]] = queue.Queue()

    def run(self, jobs: Sequence[Job], record: Callable[[Done], None]) -> None:
        """Evaluate all jobs. Raises MachineError if the machine is at fault, and as `record`."""
        self._jobs.extend(jobs)
        count = min(self._workers, len(jobs))
        threads = [threading.Thread(target=self._work, daemon=True) for _ in range(count)]
        for each in threads:
            each.start()
        try:
            working = count
            while working:
                done, heard = self._done.get()
                if done is None:
                    working -= 1
                elif isinstance(done, BaseException):
                    raise done
                else:
                    record(done)
                heard.set()
        finally:
            self._gate.stop()
            for each in threads:
                each.join(SECONDS_TO_STOP)

    def _work(self) -> None:
        """Take jobs until there are none, and say so."""
        said: Done | BaseException | None = None
        try:
            with self._place() as place:
                while self._jobs:
                    self._take(place, self._jobs.popleft())
        except Stopped:
            return
        except IndexError:
            pass  # another has taken the last one
        except BaseException as error:  # told in the thread that waits for it
            said = error
        self._done.put((said, threading.Event()))

    def _take(self, place: Attempts, job: Job) -> None:
        with Passing(self._gate) as passing:
            done = self._evaluated(place, job, passing)
            heard = threading.Event()
            self._done.put((done, heard))
            while not heard.wait(SECONDS_TO_STOP):
                self._gate.check()

    def _evaluated(self, place: Attempts, job: Job, passing: Passing) -> Done:
        try:
            trial = trial_of(job, self._conditions)
        except Unusable as reason:
            result = unusable_result(job, self._conditions, self.device, reason)
            return Done(job, result, Judged(reason.outcome.value, str(reason)))
        try:
            result = place.attempt(self.device, trial, (), passing)
        except DeclarationError as error:
            return Done(job, None, None, str(error))
        passing.end()
        return Done(job, result, judged(result, passing.measured))
