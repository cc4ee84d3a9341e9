"""Deliberately wrong kernels, and what verification must say about each."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from metalbench import _core
from metalbench.kernel import header as kernel
from metalbench.kernel.library import Library
from metalbench.kernel.prepare import Builds
from metalbench.verify import Kind, VerifyPlan, small_sizes, verify, verify_checked

WRONG = Path(__file__).parent / "wrong"
LIBRARY = Library()


@pytest.fixture(scope="module")
def device():
    return _core.open("cpu")


def read(name):
    return kernel.read(WRONG / f"{name}.metal")


def plain(device, name, task, **options):
    task = LIBRARY.entry(task).task
    options.setdefault("sizes", small_sizes(task))
    return verify(Builds(device, read(name), task), VerifyPlan(**options))


def checked(device, name, task):
    return verify_checked(Builds(device, read(name), LIBRARY.entry(task).task))


@pytest.mark.parametrize(
    ("name", "task", "kind", "message"),
    [
        ("off_by_one", "relu", Kind.WRONG_RESULT, "one place too far to the left"),
        ("writes_nothing", "relu", Kind.NOT_WRITTEN, "got nothing; .*; nothing was written"),
        (
            "last_tile_forgotten",
            "relu",
            Kind.NOT_WRITTEN,
            r"the last 219 of 37851 elements \(in memory order\) were never written \(size odd1",
        ),
        (
            "last_column_tile_forgotten",
            "transpose_2d",
            Kind.NOT_WRITTEN,
            "the last 31 of 1023 rows were never written",
        ),
        ("write_past_the_end", "relu", Kind.GUARD_ZONE, r"y: .* outside of .*, 0 bytes past"),
        ("input_changed", "relu", Kind.INPUT_CHANGED, "x: the kernel changed its input"),
        ("constant_output", "relu", Kind.WRONG_RESULT, "every element is 0.5"),
        ("copy_of_the_input", "relu", Kind.WRONG_RESULT, "it is a copy of the input x"),
        ("not_a_number", "relu", Kind.WRONG_RESULT, "got nan; .*; they are not a number"),
        ("half_in_disguise", "layer_norm", Kind.WRONG_RESULT, "elements are wrong"),
        ("wrong_factor", "rms_norm", Kind.WRONG_RESULT, "every element is 0.5 times"),
        ("far_away", "relu", Kind.FAULT, r"far_away.metal:8"),
        ("does_not_compile", "relu", Kind.COMPILE_ERROR, r"does_not_compile.metal:8:\d+: error"),
        ("missing_barrier", "matvec", Kind.WRONG_RESULT, "y: expected"),
        ("naive_softmax", "softmax", Kind.WRONG_RESULT, r"got (nan|0); .* x shifted by 100\)"),
        ("one_pass_variance", "layer_norm", Kind.WRONG_RESULT, r"x shifted by 100\)"),
    ],
)
def test_a_wrong_kernel_has_the_expected_finding(device, name, task, kind, message):
    report = plain(device, name, task)
    assert not report.passed
    assert {each.kind for each in report.findings} == {kind}
    texts = [each.message for each in report.findings]
    assert any(re.search(message, each, re.DOTALL) for each in texts), texts


def test_an_infinite_loop_exceeds_the_time_limit(device):
    report = plain(device, "infinite_loop", "relu", time_limit=0.2)
    (finding,) = report.findings
    assert finding.kind is Kind.TIME_LIMIT
    assert "time limit of 0.2 s" in finding.message


@pytest.mark.parametrize(
    ("name", "task", "kind", "message"),
    [
        ("off_by_one", "relu", Kind.OUT_OF_BOUNDS, "read of 4 bytes past the end of `x`"),
        ("read_past_the_end", "relu", Kind.OUT_OF_BOUNDS, "read of 4 bytes past the end of `x`"),
        ("write_past_the_end", "relu", Kind.OUT_OF_BOUNDS, "write of 4 bytes past the end of `y`"),
        ("missing_barrier", "matvec", Kind.UNINITIALISED, "is a threadgroup_barrier missing"),
        ("right_by_luck", "matvec", Kind.RACE, "mem_threadgroup is missing in between"),
        ("uninitialised", "matvec", Kind.UNINITIALISED, "no thread of the group has written"),
    ],
)
def test_a_checked_build_names_the_cause(device, name, task, kind, message):
    (finding,) = checked(device, name, task).findings
    assert finding.kind is kind
    assert message in finding.message
    assert f"{name}.metal:" in finding.message


@pytest.mark.parametrize(
    ("name", "task"), [("read_past_the_end", "relu"), ("right_by_luck", "matvec")]
)
def test_luck_is_not_enough(device, name, task):
    """Right in the order in which this device runs threads; the checked build sees it."""
    assert plain(device, name, task).passed
    assert not checked(device, name, task).passed


@pytest.mark.parametrize("name", sorted(path.stem for path in WRONG.glob("*.metal")))
def test_every_wrong_kernel_has_a_description(name):
    assert read(name).description


def test_the_next_kernel_is_not_affected(device):
    plain(device, "far_away", "relu")
    entry = LIBRARY.entry("relu")
    report = verify(Builds(device, entry.kernel(), entry.task), VerifyPlan(sizes=["small"]))
    assert report.passed, report.findings


def test_a_failing_size_does_not_hide_the_others(device):
    report = plain(device, "last_tile_forgotten", "relu")
    assert [each.size for each in report.findings] == ["odd1", "odd2"]
    assert report.worst is not None
    assert report.worst.ratio > 1
    small = [each.passed for each in report.comparisons if each.size == "small"]
    assert small == [True] * LIBRARY.entry("relu").task.turn
