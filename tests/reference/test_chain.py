"""Repetitions of the reference: chained in one way or the other, and with values left alone."""

from __future__ import annotations

from collections import Counter

import mlx.core as mx
import numpy as np
import pytest

from metalbench.reference import chain
from metalbench.reference.chain import Reference, _by_data, _by_graph
from metalbench.task import normal, output, task
from metalbench.task.workload import workload

RUNS: Counter[str] = Counter()


@task(
    sizes=dict(small=dict(n=64), seed=dict(n=128)),
    inputs=dict(x=normal("n")),
    outputs=dict(y=output("n")),
    oracle=lambda x: 2 * x,
    flops="n",
)
def doubled(x):
    RUNS["doubled"] += 1
    return x + x


@pytest.mark.parametrize("depend", [_by_data, _by_graph])
@pytest.mark.parametrize("several", [False, True])
def test_a_dependency_changes_nothing(depend, several):
    x = mx.array(np.random.default_rng(0).standard_normal((37, 41)).astype(np.float32))
    y = mx.exp(x)
    results = (y, mx.argmax(x)) if several else y
    np.testing.assert_array_equal(np.array(depend(x, results)), np.array(x))


@pytest.mark.parametrize("value", [np.nan, np.inf, 1.5])
def test_no_output_can_change_an_input(value):
    x = mx.array(np.arange(5, dtype=np.uint32))
    kept = _by_data(x, mx.array([value, 2.0]))
    assert kept.dtype == mx.uint32
    np.testing.assert_array_equal(np.array(kept), np.arange(5))


@pytest.mark.parametrize("shape", [(), (3,), (2, 3, 4)])
def test_outputs_of_any_shape_can_be_waited_for(shape):
    x = mx.arange(6).reshape(2, 3)
    np.testing.assert_array_equal(np.array(_by_data(x, mx.ones(shape))), np.array(x))


@pytest.fixture
def calls(monkeypatch):
    """What the reference asks of MLX, in order."""
    found = []
    for name in ("async_eval", "eval", "synchronize", "clear_cache"):
        original = getattr(mx, name)

        def recorded(*arguments, name=name, original=original):
            found.append(name)
            return original(*arguments)

        monkeypatch.setattr(chain.mx, name, recorded)
    return found


def on_the_data(work):
    """As beside a GPU, but on MLX's CPU."""
    reference = Reference(work)
    reference._depend = _by_data
    return reference


@pytest.mark.parametrize("make", [Reference, on_the_data])
def test_every_repetition_runs_and_all_have_ended(make, calls):
    reference = make(workload(doubled, "small"))
    assert calls == ["clear_cache", "eval"]
    RUNS.clear()
    calls.clear()
    reference(100)
    assert RUNS["doubled"] == 100
    assert calls == ["async_eval"] * 3 + ["eval", "synchronize"]
    calls.clear()
    reference(1)
    assert calls == ["eval", "synchronize"]


def test_beside_a_gpu_only_mlxs_gpu_is_timed(monkeypatch):
    work = workload(doubled, "small")
    monkeypatch.setattr(mx.metal, "is_available", lambda: False)
    reference, missing = chain.reference_beside("metal", work)
    assert reference is None
    assert missing == (chain.NO_GPU,)
    reference, missing = chain.reference_beside("cpu", work)
    assert isinstance(reference, Reference)
    assert missing == ()


def test_repetitions_do_not_leave_graphs_behind():
    reference = on_the_data(workload(doubled, "small"))
    reference(64)
    before = mx.get_active_memory()
    reference(640)
    assert mx.get_active_memory() == before
