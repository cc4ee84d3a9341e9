"""Kernels of ours for KernelBench's problems: right, and sound in every access."""

from __future__ import annotations

from collections import Counter

import pytest

from metalbench import _core
from metalbench.kernel.library import Entry, find
from metalbench.kernel.prepare import Builds
from metalbench.verify import VerifyPlan, verify, verify_checked

SOLVED = [each for each in find((), "kernelbench") if not each.unsolved]
# Kernels with more dispatches have a separate test, which is costly.
MOST_DISPATCHES = 40
DEEP = [each for each in SOLVED if len(each.kernel().dispatches) > MOST_DISPATCHES]
OTHERS = [each for each in SOLVED if each not in DEEP]

every_kernel = pytest.mark.parametrize("entry", SOLVED, ids=lambda each: each.name)


@pytest.mark.parametrize("entry", OTHERS, ids=lambda each: each.name)
def test_the_kernel_is_right_and_sound(entry: Entry) -> None:
    expect_right_and_sound(entry)


@pytest.mark.parametrize("entry", DEEP, ids=lambda each: each.name)
def test_the_kernel_of_a_deep_network_is_right_and_sound(entry: Entry) -> None:
    expect_right_and_sound(entry)


def expect_right_and_sound(entry: Entry) -> None:
    device = _core.open("cpu")
    report = verify(Builds(device, entry.kernel(), entry.task), VerifyPlan(sizes=["small", "odd"]))
    assert report.passed, report.findings
    report = verify_checked(Builds(device, entry.kernel(), entry.task))
    assert report.passed, report.findings


@pytest.mark.slow
@every_kernel
def test_the_kernel_is_correct_at_the_timed_size(entry: Entry) -> None:
    report = verify(
        Builds(_core.open("cpu"), entry.kernel(), entry.task),
        VerifyPlan(sizes=["cpu"], timed="cpu"),
    )
    assert report.passed, report.findings


def test_kernels_of_ours_are_listed() -> None:
    """Every problem has a kernel."""
    levels = Counter(each.set for each in SOLVED)
    assert list(levels.values()) == [100, 100, 50, 20]
