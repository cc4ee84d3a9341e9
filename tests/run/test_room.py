"""What does not fit is told before anything is drawn or compiled."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import numpy as np
import pytest

from metalbench.errors import DeclarationError
from metalbench.isolation.limits import Limits
from metalbench.kernel.library import Entry, Library, find
from metalbench.result import DeviceFacts
from metalbench.run.room import GIB, check_room, need_of
from metalbench.run.stages import Observer
from metalbench.run.trial import Trial
from metalbench.task import workload as drawing

CPU = DeviceFacts("cpu", "cpu", None, 2)
SMALL_GPU = DeviceFacts("cuda", "Small", "sm_90", 1, {"memory_bytes": 1 << 30})
PLENTY = Limits(seconds=1e6, memory_bytes=1 << 45)


def trial(name: str, size: str | None = "paper") -> Trial:
    entry = Library().entry(name)
    return Trial(entry, entry.kernel(), "float32", size)


@pytest.mark.parametrize("kind", ["cpu", "cuda"])
def test_more_is_needed_of_larger_sizes(kind: str) -> None:
    task = Library().entry("kb1_019_relu").task
    small, large = (need_of(task, size, "float32", kind) for size in ("cpu", "paper"))
    assert small.host_bytes < GIB < large.host_bytes
    assert small.seconds < 5 < large.seconds
    assert (small.device_bytes > 0) is (kind == "cuda")


def test_the_estimate_has_two_seeds_inputs_and_the_oracles_in_float64() -> None:
    task = Library().entry("kb1_019_relu").task
    arrays = 2 * 4 * 4096 * 8192
    measured = 9.3 * arrays  # of a run on two cores, less what Python holds
    got = need_of(task, "rows=4096,cols=8192", "float32", "cpu").host_bytes
    assert 0.6 * measured < got < 1.2 * measured


@pytest.mark.parametrize(
    ("device", "limits", "lacking"),
    [
        (CPU, Limits(1e6, 2 * GIB), r"memory: [\d.]+ GiB at least, and 2 GiB may be taken"),
        (CPU, Limits(3.0, 1 << 45), r"time: [\d.]+ s at least, and 3 s may be taken"),
        (SMALL_GPU, PLENTY, r"memory of Small: [\d.]+ GiB at least, and 1 GiB may be taken"),
    ],
)
def test_what_does_not_fit_is_told_with_the_figures(
    device: DeviceFacts, limits: Limits, lacking: str
) -> None:
    expected = rf"\[kb1_019_relu\] size paper does not fit on the {device.kind} device.*{lacking}"
    with pytest.raises(DeclarationError, match=expected):
        check_room(trial("kb1_019_relu"), device, limits)


def test_a_launch_that_the_cpu_device_would_end_is_told() -> None:
    check_room(trial("kb1_001_square_matrix_multiplication"), CPU, PLENTY)
    product = trial("kb1_001_square_matrix_multiplication", "n=8192")
    with pytest.raises(DeclarationError, match=r"time of a launch: 22 s .* 10 s may be taken"):
        check_room(product, CPU, PLENTY)
    check_room(product, replace(SMALL_GPU, capabilities={}), PLENTY)


def test_what_fits_is_not_told() -> None:
    check_room(trial("kb1_019_relu", "cpu"), CPU, Limits(600, 2 * GIB))
    check_room(trial("kb1_001_square_matrix_multiplication", "cpu"), CPU, PLENTY)
    check_room(trial("kb1_019_relu"), replace(SMALL_GPU, capabilities={}), PLENTY)


def test_nothing_is_drawn_and_no_process_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    from metalbench.isolation import workers

    def never(*_: object, **__: object) -> None:
        raise AssertionError("it was tried")

    monkeypatch.setattr(workers, "Ahead", lambda _: None)
    monkeypatch.setattr(workers.Workers, "_answered", never)
    monkeypatch.setattr(np.random, "Philox", never)
    monkeypatch.setattr(drawing, "workload", never)
    place = workers.Workers("cpu", Limits(600, 2 * GIB))
    with pytest.raises(DeclarationError, match="does not fit"):
        place.attempt(CPU, trial("kb1_019_relu"), (), cast("Observer", None))


@pytest.mark.slow
@pytest.mark.parametrize("entry", find((), "kernelbench"), ids=lambda each: each.name)
def test_every_problem_has_an_estimate_at_its_own_extents(entry: Entry) -> None:
    for kind in ("cpu", "cuda"):
        need = need_of(entry.task, "paper", "float32", kind)
        assert need.host_bytes > entry.task.bytes("paper", "float32")
        assert need.seconds > 0
