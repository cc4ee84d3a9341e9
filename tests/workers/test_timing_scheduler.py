"""Many threads work at a time, one is timed, and no other works then."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest

from metalbench.run.trial import Stage
from metalbench.workers.scheduler import EvaluationStopped, SchedulingObserver, TimingScheduler


class Watched(SchedulingObserver):
    """Notes who was at work, and who timed, at any change."""

    lock = threading.Lock()

    def __init__(
        self,
        scheduler: TimingScheduler,
        seen: list[tuple[int, int]],
        now: list[int],
        meeting: threading.Barrier | None,
    ) -> None:
        super().__init__(scheduler)
        self._seen, self._now, self._meeting = seen, now, meeting

    def step(self, stage: Stage) -> None:
        place = 1 if stage is Stage.MEASURE else 0
        self.stage_started(stage)
        with self.lock:
            self._now[place] += 1
            self._seen.append((self._now[0], self._now[1]))
        if self._meeting is not None and stage is Stage.COMPILE:
            self._meeting.wait(60)
        for _ in range(200):  # let others have a turn
            threading.Event().wait(0)
        with self.lock:
            self._now[place] -= 1


def test_only_the_timed_thread_runs() -> None:
    scheduler, seen, now = TimingScheduler(), list[tuple[int, int]](), [0, 0]
    # The first of each thread compile until all four do, however threads have their turns.
    all_four = threading.Barrier(4)

    def trial(number: int) -> tuple[float | None, float | None]:
        with Watched(scheduler, seen, now, all_four if number < 4 else None) as passing:
            for stage in (Stage.COMPILE, Stage.VERIFY, Stage.MEASURE, Stage.RECHECK, Stage.CHECK):
                passing.step(stage)
        return passing.measured

    with ThreadPoolExecutor(4) as pool:
        measured = list(pool.map(trial, range(12)))
    assert all(working == 0 for working, timing in seen if timing)
    assert max(timing for _, timing in seen) == 1
    assert max(working for working, _ in seen) == 4
    spans = sorted((begin, end) for begin, end in measured if begin is not None and end is not None)
    assert len(spans) == 12
    assert all(first[1] <= second[0] for first, second in pairwise(spans))


def _time_beside_two(scheduler: TimingScheduler, *, is_blocked: bool) -> list[str]:
    """Return what two workers and one that waits to be timed do, in order.

    Both workers are in a stage when the third begins to wait. Then each ends its stage and begins
    the next one, once; `is_blocked` says that the first of these is expected to wait.
    """
    done: list[str] = []
    for _ in range(3):
        scheduler.begin_work()

    def is_timed() -> None:
        scheduler.begin_timing()
        done.append("timed")
        scheduler.end_timing()

    thread = threading.Thread(target=is_timed)
    thread.start()
    while not scheduler._waiting_since:
        threading.Event().wait(0.001)
    scheduler.end_work()

    def works() -> None:
        scheduler.begin_work()
        done.append("stage")
        scheduler.end_work()

    other = threading.Thread(target=works)
    other.start()
    other.join(0.2 if is_blocked else 30)
    scheduler.end_work()
    thread.join(10)
    other.join(10)
    return done


def test_a_stage_begins_while_more_work_than_wait_to_be_timed() -> None:
    assert _time_beside_two(TimingScheduler(), is_blocked=False) == ["stage", "timed"]


def test_no_stage_begins_once_one_has_waited_long() -> None:
    scheduler = TimingScheduler(patience_s=0.0)
    assert _time_beside_two(scheduler, is_blocked=True) == ["timed", "stage"]


def test_a_thread_that_waits_to_be_timed_stops_on_abort() -> None:
    scheduler = TimingScheduler()
    scheduler.begin_work()
    raised = threading.Event()

    def waits() -> None:
        with pytest.raises(EvaluationStopped), SchedulingObserver(scheduler) as passing:
            passing.stage_started(Stage.MEASURE)
        raised.set()

    thread = threading.Thread(target=waits)
    thread.start()
    scheduler.stop()
    thread.join(10)
    assert raised.is_set()
