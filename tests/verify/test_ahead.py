"""Workloads are prepared ahead, in order; their errors are raised at their use."""

from __future__ import annotations

import threading
from contextlib import suppress

import numpy as np
import pytest

from metalbench.errors import TaskError
from metalbench.task import Task, normal, output, task
from metalbench.task import workload as workloads
from metalbench.task.workload import workload
from metalbench.verify import flow
from metalbench.verify.flow import inputs_ahead, workloads_ahead

LONG_S = 60


def declared(oracle) -> Task:
    @task(
        sizes=dict(seed=dict(n=1000)),
        inputs=dict(x=normal("n")),
        outputs=dict(y=output("n")),
        oracle=oracle,
        flops="n",
    )
    def doubled(x):
        return x + x

    return doubled


def test_workloads_ahead_keeps_the_order_of_seeds():
    doubled = declared(lambda x: 2 * x)
    works = list(workloads_ahead(doubled, "seed", [3, 1, 2], dtype_name="float32"))
    assert [work.seed for work in works] == [3, 1, 2]
    for work in works:
        alone = workload(doubled, "seed", seed=work.seed)
        np.testing.assert_array_equal(work.inputs["x"], alone.inputs["x"])
    assert list(workloads_ahead(doubled, "seed", [], dtype_name="float32")) == []


def test_the_next_oracle_has_been_asked_by_the_time_it_is_needed():
    asked = threading.Event()
    calls = []

    def oracle(x):
        calls.append(threading.current_thread())
        if len(calls) == 2:
            asked.set()
        return 2 * x

    works = workloads_ahead(declared(oracle), "seed", [0, 1], dtype_name="float32")
    first = next(works)
    # The second one was not requested.
    assert asked.wait(timeout=60)
    second = next(works)
    assert all("expected" in work.__dict__ for work in (first, second))
    assert threading.current_thread() not in calls
    assert len(calls) == 2


def test_an_error_of_an_oracle_is_raised_at_the_use_of_its_results():
    def oracle(x):
        raise ValueError("no such thing")

    (work,) = workloads_ahead(declared(oracle), "seed", [0], dtype_name="float32")
    with pytest.raises(TaskError, match="no such thing"):
        _ = work.expected


def test_an_early_exit_leaves_no_thread():
    before = threading.active_count()
    works = workloads_ahead(declared(lambda x: 2 * x), "seed", [0, 1, 2], dtype_name="float32")
    next(works)
    works.close()
    assert threading.active_count() == before


class Drawing:
    """Records the thread that draws each seed, and waits at given seeds."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.drawn: dict[int, int] = {}
        self.begun, self.may_go_on = threading.Event(), threading.Event()
        self.may_go_on.set()
        self._draw = workloads._draw
        monkeypatch.setattr(workloads, "_draw", self._noted)

    def _noted(self, task, size, dtype_name, seed):
        assert seed not in self.drawn
        self.drawn[seed] = threading.get_ident()
        self.begun.set()
        assert self.may_go_on.wait(LONG_S)
        return self._draw(task, size, dtype_name, seed)


def test_inputs_are_drawn_concurrently(monkeypatch):
    drawing, watched = Drawing(monkeypatch), declared(lambda x: 2 * x)
    with inputs_ahead(watched, "seed", [5, 6], dtype_name="float32"):
        assert drawing.begun.wait(LONG_S)
        for seed in (5, 6):
            assert workload(watched, "seed", seed=seed).seed == seed
    assert list(drawing.drawn) == [5, 6]
    assert drawing.drawn[5] != threading.get_ident()


def test_inputs_ahead_draws_only_the_first_of_large_inputs(monkeypatch):
    drawing, watched = Drawing(monkeypatch), declared(lambda x: 2 * x)
    monkeypatch.setattr(flow, "MOST_BYTES", 3000)
    with inputs_ahead(watched, "seed", [5, 6], dtype_name="float32"):
        assert drawing.begun.wait(LONG_S)
        assert workload(watched, "seed", seed=5).nbytes > 3000
    assert list(drawing.drawn) == [5]


def test_an_exception_does_not_wait_for_inputs(monkeypatch):
    drawing, watched = Drawing(monkeypatch), declared(lambda x: 2 * x)
    drawing.may_go_on.clear()
    with suppress(KeyError), inputs_ahead(watched, "seed", [5, 6], dtype_name="float32"):
        assert drawing.begun.wait(LONG_S)
        raise KeyError
    assert list(drawing.drawn) == [5]
    drawing.may_go_on.set()
    assert workload(watched, "seed", seed=5).seed == 5
    assert list(drawing.drawn) == [5]
