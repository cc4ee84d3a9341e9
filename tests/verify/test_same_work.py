"""Kernels that are counted twice, and the memory of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from metalbench import _core
from metalbench.kernel import header
from metalbench.kernel.library import Library
from metalbench.kernel.prepare import Builds
from metalbench.msl import engine
from metalbench.verify import checked

CHEATS = Path(__file__).parents[1] / "cheats"
HEAD = "// dispatch: k threads_in_grid=(n) threads=(64)\n"


@pytest.mark.parametrize(
    ("line", "code", "remembers"),
    [
        ("", "y[i] = x[i];", False),
        ("// scratch: kept float32 (n)\n", "y[i] = x[i];", False),
        ("// inout: y\n", "y[i] += 1;", True),
        ("", "atomic_exchange_explicit(&y[i], 1u, memory_order_relaxed);", True),
        ("", "atomic_fetch_or_explicit(&y[i], 0u, memory_order_relaxed);", True),
        (
            "#define JOIN(a, b) a##b\n",
            "JOIN(ato, mic_load_explicit)(&y[i], memory_order_relaxed);",
            True,
        ),
    ],
)
def test_can_remember_is_true_for_kernels_with_state(tmp_path, line, code, remembers):
    path = tmp_path / "k.metal"
    path.write_text(f"{HEAD}{line}kernel void k(device uint* y) {{ {code} }}")
    assert checked.can_remember(header.read(path)) is remembers


def test_a_passed_kernel_is_not_counted_again(monkeypatch, tmp_path):
    monkeypatch.setenv("METALBENCH_CACHE", str(tmp_path))
    monkeypatch.setattr(checked, "can_remember", lambda _: True)
    kernel = header.read(CHEATS / "tasks" / "mean_of_all.metal")
    task = Library([CHEATS / "tasks"]).entry("mean_of_all").task
    seen = []
    for _ in range(2):
        report = checked.verify_same_work(
            Builds(_core.open("cpu"), kernel, task), progress=seen.append
        )
        assert report.passed
        assert report.skipped == ()
    assert len(seen) == 1


def test_a_build_that_checks_and_counts_is_refused():
    program = engine.parse("kernel void k(device uint* y) { y[0] = 1; }")
    with pytest.raises(ValueError, match="checked or counted, got both"):
        engine.build(program, "k", checked=True, counted=True)
