"""Timed passes of kernels that update an input in place."""

from __future__ import annotations

import numpy as np
import pytest
from in_place import COPYING, RIGHT, SKIPPING, SLOW, placed

from metalbench import _core
from metalbench.kernel.header import parse
from metalbench.kernel.prepare import compile_kernel
from metalbench.measure.measurement import Plan, TimingMode
from metalbench.reference.chain import DONATED
from metalbench.run.timed import BufferRotation, ReuseAudit, Timed, _PassSizes
from metalbench.task.workload import workload
from metalbench.verify import Kind

BOTH = pytest.mark.parametrize("mode", [TimingMode.WARM, TimingMode.COLD])


def compiled(source: str):
    return compile_kernel(_core.open("cpu"), parse(source, name="placed"), placed)


def rotation(source: str, mode: TimingMode = TimingMode.WARM) -> BufferRotation:
    return BufferRotation.of(compiled(source), workload(placed, "seed", seed=3), mode)


@BOTH
def test_every_pass_updates_its_own_input(mode):
    turns = rotation(RIGHT, mode)
    for each in turns.passes:
        assert each.outputs["y"] is each.inputs["cache"]
    turns.run()
    turns.run()
    assert turns.judge_last_window().passed
    turns.exchange_inputs(1)
    turns.run()
    assert turns.judge_last_window().passed
    assert turns.judge_new_inputs(workload(placed, "seed", seed=9)).passed


def test_a_pass_moves_an_updated_input_once():
    in_place, copying = (
        _PassSizes.of(compiled(each), workload(placed, "seed")) for each in (RIGHT, COPYING)
    )
    assert in_place.inputs == copying.inputs
    assert (in_place.outputs, copying.outputs) == (0, 4 * 4096)


def windows(turns: BufferRotation) -> np.ndarray:
    samples = turns.device.sample(
        turns.dispatches,
        candidate_repeats=len(turns.passes),
        candidate_window=8,
        warmup_ns=0,
        max_pairs=8,
        min_pairs=8,
    )
    return np.asarray(samples.candidate_ns)


def test_the_audit_finds_a_kernel_that_skips_what_has_been_updated():
    # Other load can hide what a kernel saves, from one report in many.
    for _ in range(3):
        turns = rotation(SKIPPING)
        turns.run()
        audit = ReuseAudit(turns)
        report = audit.report(windows(turns), 8)
        if report.findings:
            break
    assert [each.kind for each in report.findings] == [Kind.LESS_WORK]


@pytest.mark.parametrize("source", [RIGHT, SLOW])
def test_the_audit_passes_honest_kernels_and_leaves_their_results(source):
    turns = rotation(source)
    turns.run()
    audit = ReuseAudit(turns)
    report = audit.report(windows(turns), 8)
    assert report.passed, report.findings
    assert turns.judge_last_window().passed


@pytest.mark.parametrize(("first", "second"), [(RIGHT, COPYING), (COPYING, RIGHT), (RIGHT, SLOW)])
def test_two_kernels_in_pairs_do_not_see_each_others_updates(first, second):
    mine = rotation(first)
    other = mine.bind_another(compiled(second))
    for each, theirs in zip(mine.passes, other.passes, strict=True):
        assert each.inputs["cache"] is not theirs.inputs["cache"]
        assert each.outputs["y"] is not theirs.outputs["y"]
    for batch in range(2):
        mine.exchange_inputs(batch + 1)
        other.adopt_inputs(mine)
        for each in other.passes:
            assert each.inputs["cache"].holds(each.workload.inputs["cache"])
        mine.run()
        other.run()
        assert mine.judge_last_window().passed
        assert other.judge_last_window().passed


def test_two_kernels_that_copy_share_their_buffers():
    mine = rotation(COPYING)
    other = mine.bind_another(compiled(COPYING))
    for each, theirs in zip(mine.passes, other.passes, strict=True):
        assert each.inputs["cache"] is theirs.inputs["cache"]


def test_a_timed_kernel_is_compared_with_a_donated_update(tmp_path, monkeypatch):
    monkeypatch.setenv("METALBENCH_CACHE", str(tmp_path))
    plan = Plan(seconds=0.05, warmup_ns=1_000_000, first_analysis=8, min_pairs=2, max_pairs=16)
    for source, is_donated in ((RIGHT, True), (COPYING, False)):
        timed = Timed.prepare(compiled(source), workload(placed, "seed"), TimingMode.WARM)
        measured = timed.measure(plan, None)
        assert measured.reference_name.endswith(DONATED) == is_donated
        assert timed.rotation.judge_last_window().passed
