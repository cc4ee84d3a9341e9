"""A separate task, with kernels of which each works as much as its test wants."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from steady_path import tmp_path

from metalbench.kernel.header import parse
from metalbench.kernel.library import Entry, find
from metalbench.measure.measurement import Plan
from metalbench.run.trial import Trial
from metalbench.store.store import Store

__all__ = ["tmp_path"]

TASK = '''
"""Twice the input."""

from metalbench.task import normal, output, task


@task(
    sizes=dict(small=dict(n=100), odd1=dict(n=37), seed=dict(n=2048)),
    inputs=dict(x=normal("n")),
    outputs=dict(y=output("n")),
    oracle=lambda x: FACTOR * x,
    flops="n",
)
def doubled(x):
    return FACTOR * x
'''
KERNEL = """// Twice the input, after some work in vain.
// dispatch: twice  threads_in_grid=(n)  threads=(256)
// tune: WORK = 400, 4
#include "twice.h"

[[kernel]] void twice(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
  float v = x[i];
  for (uint k = 0; k < WORK; ++k) {
    v = fma(v, 1.0000001f, 1e-30f);
  }
  y[i] = v == 12345.0f ? 0.0f : double_of(x[i]);
}
"""
# What looks like a header line is none: it is not the kernel's own.
HEADER = """// dispatch: another  threads_in_grid=(count)  threads=(TG)
#include <metal_stdlib>
using namespace metal;

inline float double_of(float x) { return 2 * x; }
"""
QUICK = Plan(seconds=0.05, warmup_ns=0, min_pairs=12, first_analysis=32, batch_pairs=8)
MakeTrial = Callable[..., Trial]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the folder of the task and its kernel."""
    folder = tmp_path / "kernels"
    folder.mkdir()
    (folder / "doubled.py").write_text(TASK.replace("FACTOR", "2"))
    (folder / "doubled.metal").write_text(KERNEL)
    (folder / "twice.h").write_text(HEADER)
    return folder


@pytest.fixture
def entry(folder: Path) -> Entry:
    """The task."""
    return find(["doubled"], None, [folder])[0]


@pytest.fixture
def trial(entry: Entry, folder: Path) -> MakeTrial:
    """Makes a trial of a kernel that works so long, or of another text."""

    def make(work: int = 400, source: str = KERNEL, **options: object) -> Trial:
        text = source.replace("WORK = 400, 4", f"WORK = {work}, 3")
        kernel = parse(text, name="doubled", path=folder / "doubled.metal")
        return Trial(entry, kernel, "float32", **{"plan": QUICK, **options})  # type: ignore[arg-type]

    return make


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Return a separate store."""
    with Store(tmp_path / "results.db") as opened:
        yield opened
