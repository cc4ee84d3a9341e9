"""Trials that exceed the budget are refused before inputs are drawn or kernels compiled."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np
import pytest

from metalbench.errors import DeclarationError
from metalbench.kernel.library import Entry, Library, find
from metalbench.run.budget import GIB, check_budget, estimate_requirement
from metalbench.run.trial import Observer, Trial
from metalbench.sandbox.resources import Limits
from metalbench.store.result import DeviceFacts
from metalbench.task import workload as drawing

CPU = DeviceFacts("cpu", "cpu", None, 2)
SMALL_GPU = DeviceFacts("cuda", "Small", "sm_90", 1, {"memory_bytes": 1 << 30})
MIB = 1 << 20
EXTENTS = "rows=4096,cols=8192"
PLENTY = Limits(seconds=1e6, memory_bytes=1 << 45)


def trial(name: str, size: str | None = "paper") -> Trial:
    entry = Library().entry(name)
    return Trial(entry, entry.kernel(), "float32", size)


@pytest.mark.parametrize("kind", ["cpu", "cuda"])
def test_more_is_needed_of_larger_sizes(kind: str) -> None:
    task = Library().entry("kb1_019_relu").task
    small, large = (estimate_requirement(task, size, "float32", kind) for size in ("cpu", "paper"))
    assert small.host_bytes < GIB < large.host_bytes
    assert small.seconds < 5 < large.seconds
    assert (small.device_bytes > 0) is (kind == "cuda")


def test_estimate_requirement_counts_each_array() -> None:
    # x, y and what MLX's reference computes have 128 MiB each in float32, 256 MiB in float64.
    task = Library().entry("kb1_019_relu").task
    device_mib = {
        "x of two seeds, and y, for the kernel": 3 * 128,
        "x of two seeds, and y, for MLX": 3 * 128,
        "what MLX computes before y": 128,
    }
    host_mib = {
        "Python, NumPy, MLX and the engine": 300,
        "x of two seeds, and y": 3 * 128,
        "x, y, and the error of y in float64": 3 * 256,
        "what the oracle computes before y in float64": 256,
    }
    on_gpu, on_cpu = (
        estimate_requirement(task, EXTENTS, "float32", kind) for kind in ("cuda", "cpu")
    )
    assert on_gpu.device_bytes == sum(device_mib.values()) * MIB
    assert on_gpu.host_bytes == sum(host_mib.values()) * MIB
    # The cpu device's arrays are in the host's memory.
    assert on_cpu.host_bytes == on_gpu.host_bytes + on_gpu.device_bytes
    assert on_cpu.device_bytes == 0
    # Without an oracle there are y and its error in float32.
    without = estimate_requirement(task, EXTENTS, "float32", "cuda", asks=False)
    assert without.host_bytes == (300 + 3 * 128 + 2 * 128) * MIB


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="ru_maxrss is in KiB on Linux")
def test_estimate_requirement_is_close_to_the_memory_of_a_run(tmp_path: Path) -> None:
    command = ("run", "kb1_019_relu", "--size", EXTENTS, "--time", "0.05", "--device", "cpu")
    script = (
        "import resource, subprocess, sys\n"
        "subprocess.run([sys.executable, '-m', 'metalbench', *sys.argv[1:]], check=True)\n"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    answer = subprocess.run(
        [sys.executable, "-c", script, *command, "--db", str(tmp_path / "results.db")],
        capture_output=True,
        text=True,
        check=True,
    )
    # The peak of the largest process, the judge. It was 3059 MiB where 2604 MiB were estimated.
    peak_bytes = int(answer.stdout.splitlines()[-1]) * 1024
    estimate = estimate_requirement(
        Library().entry("kb1_019_relu").task, EXTENTS, "float32", "cpu"
    ).host_bytes
    assert 0.6 * peak_bytes < estimate < 1.2 * peak_bytes


@pytest.mark.parametrize(
    ("device", "limits", "lacking"),
    [
        (CPU, Limits(1e6, 2 * GIB), r"memory: [\d.]+ GiB at least, and 2 GiB may be taken"),
        (CPU, Limits(3.0, 1 << 45), r"time: [\d.]+ s at least, and 3 s may be taken"),
        (SMALL_GPU, PLENTY, r"memory of Small: [\d.]+ GiB at least, and 1 GiB may be taken"),
    ],
)
def test_check_budget_raises_with_the_figures(
    device: DeviceFacts, limits: Limits, lacking: str
) -> None:
    expected = rf"\[kb1_019_relu\] size paper does not fit on the {device.kind} device.*{lacking}"
    with pytest.raises(DeclarationError, match=expected):
        check_budget(trial("kb1_019_relu"), device, limits)


def test_check_budget_raises_for_a_launch_beyond_the_time_limit() -> None:
    check_budget(trial("kb1_001_square_matrix_multiplication"), CPU, PLENTY)
    product = trial("kb1_001_square_matrix_multiplication", "n=8192")
    # 2 * 8192^3 operations at 50e9 a second take 22 s.
    with pytest.raises(DeclarationError, match=r"time of a launch: 22 s .* 10 s may be taken"):
        check_budget(product, CPU, PLENTY)
    check_budget(product, replace(SMALL_GPU, capabilities={}), PLENTY)


def test_check_budget_accepts_tasks_that_fit() -> None:
    check_budget(trial("kb1_019_relu", "cpu"), CPU, Limits(600, 2 * GIB))
    check_budget(trial("kb1_001_square_matrix_multiplication", "cpu"), CPU, PLENTY)
    check_budget(trial("kb1_019_relu"), replace(SMALL_GPU, capabilities={}), PLENTY)


def test_check_budget_draws_no_inputs_and_starts_no_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from metalbench.workers import pool

    def never(*_: object, **__: object) -> None:
        raise AssertionError("it was tried")

    monkeypatch.setattr(pool, "WorkerPool", lambda _: None)
    monkeypatch.setattr(pool.Workers, "_run_job", never)
    monkeypatch.setattr(np.random, "Philox", never)
    monkeypatch.setattr(drawing, "workload", never)
    place = pool.Workers("cpu", Limits(600, 2 * GIB))
    with pytest.raises(DeclarationError, match="does not fit"):
        place.attempt(CPU, trial("kb1_019_relu"), (), cast("Observer", None))


@pytest.mark.slow
@pytest.mark.parametrize("entry", find((), "kernelbench"), ids=lambda each: each.name)
def test_every_problem_has_an_estimate_at_its_own_extents(entry: Entry) -> None:
    for kind in ("cpu", "cuda"):
        need = estimate_requirement(entry.task, "paper", "float32", kind)
        assert need.host_bytes > entry.task.bytes("paper", "float32")
        assert need.seconds > 0
