"""Findings of an examination, with kernels whose work is scripted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import mlx.core as mx
import numpy as np
import pytest

from metalbench import _core, reference
from metalbench.kernel.library import Library
from metalbench.kernel.memory import GUARD_BYTES, GuardedBuffer
from metalbench.kernel.prepare import compile_kernel
from metalbench.task.dtypes import dtype
from metalbench.task.workload import workload
from metalbench.verify import Kind
from metalbench.verify.examine import (
    RUNS,
    EarlierResults,
    Examiner,
    ReferenceErrors,
    examine_repeatedly,
)
from metalbench.verify.tolerance import ErrorNorms


@pytest.fixture(scope="module")
def device():
    return _core.open("cpu")


class Scripted:
    """Stands in for a device: every run calls `work(run number, bound)`."""

    kind = "cpu"

    def __init__(self, device, work, **changes):
        entry = Library().entry("relu")
        task = replace(entry.task, **changes)
        compiled = compile_kernel(device, entry.kernel(), task)
        self.bound = compiled.bind(workload(task, "odd1", seed=3))
        self.work = work
        self.runs = 0
        self.fresh = []
        self.poisons = set()

    def run(self, dispatches, *, time_limit):
        assert dispatches is self.bound.dispatches
        assert time_limit == 5
        self.runs += 1
        y = self.bound.read("y")
        self.fresh.append(bool(self.bound.outputs["y"].unwritten().all()))
        self.poisons.add(bytes(self.bound.outputs["y"].bytes[:2]))
        y[...] = np.maximum(self.bound.inputs["x"].array, 0)
        self.work(self.runs, self.bound)
        return 1

    def examine(self, repeat=True):
        examiner = Examiner(self.bound, self, 5)
        return examine_repeatedly(examiner) if repeat else examiner.examine()


def test_a_right_kernel_runs_three_times(device):
    scripted = Scripted(device, lambda run, bound: None)
    report = scripted.examine()
    assert report.passed
    assert scripted.fresh == [*[True] * RUNS, False, True, True, False], (
        "poisoned, but once on purpose"
    )
    assert len(scripted.poisons) > 2
    assert report.worst.ratio == 0
    scripted.examine(repeat=False)
    assert scripted.runs == RUNS + 5


@pytest.mark.parametrize(("seed", "right"), [(3, False), (2, True)])
def test_a_kernel_that_fails_by_other_seeds_is_judged_by_its_own_reference_error(
    device, seed, right
):
    """It may have been luckier there: a few drawn factors can be behind all of its errors."""

    def off(run, bound):
        bound.read("y")[...] *= np.float32(1 + 1e-6)

    scripted = Scripted(device, off, reference=lambda x: (x > 0) * x * (1 + 1e-6))
    variation = scripted.bound.workload.variation
    lucky = ReferenceErrors({variation: {"y": ErrorNorms(0, 0)}}, {variation: seed})
    assert Examiner(scripted.bound, scripted, 5, lucky).examine().passed is right
    assert lucky.seeds == {variation: 3}


@pytest.mark.parametrize(("factor", "passed"), [(1.0, True), (1 + 1e-3, False)])
def test_mlx_on_the_cpu_judges_a_gpu_only_where_a_result_fails_without(
    device, monkeypatch, factor, passed
):
    references = []

    def relu(x):
        references.append(x)
        return mx.maximum(x, 0)

    def scale(run, bound):
        bound.read("y")[...] *= np.float32(factor)

    monkeypatch.setattr(reference, "explain_missing_gpu", lambda kind: "MLX has no GPU")
    assert Scripted(device, scale, reference=relu).examine(repeat=False).passed is passed
    assert bool(references) is not passed


def test_a_different_bit_in_a_later_run_is_nondeterministic(device):
    def work(run, bound):
        if run == RUNS:
            y = bound.read("y")
            y[8, 9] = np.nextafter(y[8, 9], np.float32(10))

    (finding,) = Scripted(device, work).examine().findings
    assert finding.kind is Kind.NONDETERMINISTIC
    assert "run 3 on the same inputs differs from run 1 in 1 elements, first at (8, 9)" in (
        finding.message
    )


def test_a_kernel_that_stops_after_the_first_run_is_found(device):
    def work(run, bound):
        if run > 1:
            bound.poison()

    (finding,) = Scripted(device, work).examine().findings
    assert finding.kind is Kind.NONDETERMINISTIC


@pytest.mark.parametrize("kept", [slice(None), slice(20, 23)])
def test_results_of_the_run_before_are_noticed(device, kept):
    def work(run, bound):
        if run == RUNS:
            work.last = bound.read("y").copy()
        if run == RUNS + 1:
            bound.read("y")[kept] = work.last[kept]

    (finding,) = Scripted(device, work).examine().findings
    assert finding.kind is Kind.STALE_RESULT
    assert "differs from one in fresh memory" in finding.message


def test_reused_results_are_found_for_repeated_inputs(device):
    known = {}

    def work(run, bound):
        key = bytes(bound.inputs["x"].bytes)
        if not known["fresh"] and key == known.get("x"):
            bound.read("y")[...] = known["seen"]
        known.update(x=key)

    class Remembering(Scripted):
        def run(self, dispatches, *, time_limit):
            known["fresh"] = self.bound.outputs["y"].unwritten().all()
            known["seen"] = self.bound.read("y").copy()
            return super().run(dispatches, time_limit=time_limit)

    (finding,) = Remembering(device, work).examine().findings
    assert finding.kind is Kind.STALE_RESULT
    assert "over its own results, some of them poisoned" in finding.message


def test_inputs_move_and_their_old_memory_is_invalid(device):
    entry = Library().entry("relu")
    compiled = compile_kernel(device, entry.kernel(), entry.task)
    work = workload(entry.task, "small")
    bound = compiled.bind(work)
    seen = []

    class Watched:
        kind = "cpu"

        def run(self, dispatches, *, time_limit):
            seen.append((dispatches is bound.dispatches, bound.inputs["x"].holds(work.inputs["x"])))
            return device.run(dispatches, time_limit=time_limit)

    examiner = Examiner(bound, Watched(), 5, compiled=compiled)
    assert examine_repeatedly(examiner).passed
    assert seen[:RUNS] == [(True, True), (False, False), (True, True)]
    assert bound.inputs["x"].holds(work.inputs["x"])


@pytest.mark.parametrize(
    ("array", "offset", "where"),
    [
        ("y", GUARD_BYTES - 1, "1 bytes before its start"),
        ("x", 0, "16384 bytes before its start"),
        ("y", -1, "16383 bytes past its end"),
    ],
)
def test_guard_zones(device, array, offset, where):
    def work(run, bound):
        each = {**bound.inputs, **bound.outputs}[array]
        each._memory[offset] = 0

    (finding,) = Scripted(device, work).examine().findings
    assert finding.kind is Kind.GUARD_ZONE
    assert f"{array}: the kernel wrote outside of float32 (37, 1023), {where}" in finding.message


def test_a_changed_input(device):
    def work(run, bound):
        bound.inputs["x"].array[36, 1022] = 1

    (finding,) = Scripted(device, work).examine().findings
    assert finding.kind is Kind.INPUT_CHANGED


def test_the_message_says_which_instance(device):
    def work(run, bound):
        bound.read("y")[5] = 7

    (finding,) = Scripted(device, work).examine().findings
    assert finding.message.startswith("[relu] y: expected ")
    assert finding.message.endswith("(size odd1: rows=37, cols=1023; seed 3, x spread evenly)")
    assert (finding.size, finding.seed, finding.output) == ("odd1", 3, "y")


@pytest.mark.parametrize("name", ["float32", "float16", "bfloat16", "uint32", "bool"])
@pytest.mark.parametrize("shape", [(3, 5), (8,)])
def test_poison_is_recognised_in_every_type(device, name, shape):
    kind = dtype(name)
    each = GuardedBuffer(device, shape, kind)
    assert each.unwritten().shape == shape
    assert each.unwritten().all()
    assert each.broken_guard() == ""
    each.fill(np.ones(shape, kind.numpy))
    assert not each.unwritten().any()
    assert each.holds(np.ones(shape, kind.numpy))
    each.poison(1)
    assert each.unwritten().all()
    assert not np.isnan(each.array.astype(np.float32)).any()
    each.poison()
    assert each.unwritten().all()
    assert each.broken_guard() == ""
    if kind.is_float:
        assert np.isnan(each.array.astype(np.float32)).all()


@pytest.mark.parametrize(
    ("first", "then", "found"),
    [
        (np.arange(9000.0), np.arange(9000.0), 1),
        (np.arange(9000.0), np.arange(9000.0) + 1, None),
        (np.float32([2.5]), np.float32([2.5]), 1),
        # These may agree by chance.
        (np.zeros(100), np.zeros(100), None),
        (np.int32([1, 2]), np.int32([1, 2]), None),
    ],
)
def test_earlier_results_find_the_seed(first: Any, then: Any, found: int | None) -> None:
    earlier = EarlierResults()
    earlier.keep(1, "y", first)
    earlier.keep(2, "y", then)
    assert earlier.find_seed(2, "y", then) == found
    assert earlier.find_seed(2, "z", then) is None
