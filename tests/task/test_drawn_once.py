"""Inputs that several threads ask for at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Semaphore

from metalbench.kernel.library import Library
from metalbench.task import workload as workloads
from metalbench.task.workload import workload


class Slow:
    """Draws inputs when it is let, or fails then."""

    def __init__(self, monkeypatch, *, fails=0):
        self.begun, self.let = Semaphore(0), Semaphore(0)
        self.count, self._fails = 0, fails
        self._draw = workloads._draw
        monkeypatch.setattr(workloads, "_draw", self._drawn)

    def _drawn(self, *of):
        self.count += 1
        self.begun.release()
        assert self.let.acquire(timeout=60)
        if self.count <= self._fails:
            raise MemoryError
        return self._draw(*of)


def test_inputs_requested_by_two_threads_are_drawn_once(monkeypatch):
    slow, watched = Slow(monkeypatch), replace(Library().entry("relu").task)
    with ThreadPoolExecutor(2) as threads:
        one, other = (threads.submit(workload, watched, "small") for _ in range(2))
        assert slow.begun.acquire(timeout=60)
        slow.let.release()
        assert one.result(60) is other.result(60)
    assert slow.count == 1
    assert not workloads._turns


def test_a_thread_that_waits_for_failed_inputs_tries_again(monkeypatch):
    slow, watched = Slow(monkeypatch, fails=1), replace(Library().entry("relu").task)
    with ThreadPoolExecutor(2) as threads:
        both = [threads.submit(workload, watched, "small") for _ in range(2)]
        for _ in both:
            assert slow.begun.acquire(timeout=60)
            slow.let.release()
        raised = [isinstance(each.exception(60), MemoryError) for each in both]
    assert sorted(raised) == [False, True]
    assert not workloads._turns
