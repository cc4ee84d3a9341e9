"""The timed size is checked once for each source, as far as the time suffices."""

from __future__ import annotations

import pytest

from metalbench import _core
from metalbench.kernel.header import parse
from metalbench.kernel.prepare import Builds
from metalbench.task import normal, output, task
from metalbench.verify import Kind, checked, verify_checked_as_timed

SOURCE = """
// dispatch: same threadgroups=(ceil_div(n, 32)) threads=(32)
#include <metal_stdlib>
using namespace metal;
kernel void same(device const float* x, device float* y, constant uint& n,
                 uint i [[thread_position_in_grid]], uint group [[threadgroup_position_in_grid]]) {
  STATEMENT
  if (i < n) y[i] = x[i];
}
"""
SLOW = "for (uint k = 0; k < 100000000; ++k) y[i] = x[i];"
# Wrong in the last threadgroup, after slow ones that exceed the time limit together.
LATE = f"if (n > 1000 && group == 99) y[i] = x[n + i]; else if (n > 1000 && group > 0) {{ {SLOW} }}"
ATOMIC = (
    "if (n > 1000000) atomic_fetch_add_explicit((device atomic_uint*)y, 1, memory_order_relaxed);"
)


@task(
    sizes=dict(small=dict(n=100), seed=dict(n=32 * 100)),
    inputs=dict(x=normal("n")),
    outputs=dict(y=output("n")),
    oracle=lambda x: x,
    flops="n",
)
def same(x):
    return x


@pytest.fixture(autouse=True)
def kept(monkeypatch):
    kept = {}
    load, store = checked.build_cache.load, checked.build_cache.store
    monkeypatch.setattr(checked, "build_cache", type("Cache", (), dict(vars(checked.build_cache))))
    monkeypatch.setattr(checked.build_cache, "load", kept.get)
    monkeypatch.setattr(checked.build_cache, "store", kept.__setitem__)
    assert checked.build_cache.load is not load
    assert checked.build_cache.store is not store
    return kept


def found(statement, seconds=1.0, **options):
    kernel = parse(SOURCE.replace("STATEMENT", statement), name="same")
    device = _core.open("cpu")
    return verify_checked_as_timed(
        Builds(device, kernel, same), size="seed", seconds=seconds, **options
    )


def watched(monkeypatch):
    sizes = []
    sampled = checked._run_within

    def noted(built, size, *rest):
        sizes.append(size)
        return sampled(built, size, *rest)

    monkeypatch.setattr(checked, "_run_within", noted)
    return sizes


def test_the_check_runs_once_for_a_source_and_always_for_a_drawn_size(monkeypatch):
    sizes = watched(monkeypatch)
    for _ in range(2):
        assert found("", random_size="n=500").passed
    assert sizes == ["seed", "n=500", "n=500"]
    found("y[i] = 0;", random_size="small")
    assert sizes[3:] == ["seed"]


def test_an_incomplete_check_is_noted_and_remembered(monkeypatch):
    sizes = watched(monkeypatch)
    notes = [found(f"if (n > 1000) {{ {SLOW} }}", seconds=0.2).skipped for _ in range(2)]
    assert notes[0] == notes[1]
    assert "checked in a part of the threadgroups: those for which 0.2 s sufficed" in notes[0][0]
    assert sizes == ["seed"]


def test_findings_are_not_remembered(kept):
    for _ in range(2):
        (finding,) = found("if (n > 1000) y[i] = x[n];").findings
        assert finding.kind is Kind.OUT_OF_BOUNDS
    assert kept == {}


def test_a_check_that_needs_too_much_memory_is_skipped_with_a_note(monkeypatch):
    monkeypatch.setattr(checked, "MOST_BYTES", 1 << 10)
    (note,) = found("").skipped
    assert "were not checked" in note


def test_an_incomplete_check_samples_threadgroups_of_the_whole_grid():
    (finding,) = found(LATE).findings
    assert finding.kind is Kind.OUT_OF_BOUNDS


def test_threadgroups_with_atomics_keep_their_order():
    report = found(ATOMIC + LATE, seconds=0.5)
    assert report.passed
    assert "in a part of the threadgroups" in report.skipped[0]
