"""A histogram of 16 M values with atomics, and a bitonic sort of 1 M keys."""

from __future__ import annotations

import numpy as np

from benchmarks.engine.case import Array, Case, Loop, Step

COUNT, BINS, EACH = 16 * 1024 * 1024, 256, 64
KEYS, RUN = 1024 * 1024, 1024


def values() -> dict[str, Array]:
    x = np.random.default_rng(0).integers(0, BINS, COUNT, dtype=np.uint32)
    return {"x": x, "counts": np.zeros(BINS, np.uint32)}


def keys() -> dict[str, Array]:
    x = np.random.default_rng(0).integers(0, 2**32, KEYS, dtype=np.uint32)
    return {"x": x, "y": np.zeros_like(x)}


def sort_steps() -> tuple[Step, ...]:
    """Runs in threadgroup memory; then each doubling, the far distances one launch each."""
    half = (KEYS // 2,)
    steps = [Step("sort_runs", half, (RUN // 2,), {"x": "x", "y": "y"})]
    size = 2 * RUN
    while size <= KEYS:
        distance = size // 2
        while distance >= RUN:
            parameters = {"y": "y", "size": size, "distance": distance}
            steps.append(Step("step_of", half, (256,), parameters))
            distance //= 2
        steps.append(Step("merge_runs", half, (RUN // 2,), {"y": "y", "size": size}))
        size *= 2
    return tuple(steps)


def as_loop(step: Step) -> Loop:
    return Loop(step.kernel, KEYS // RUN, tuple(step.parameters.values()))


HISTOGRAM = Case(
    "histogram",
    "histogram.metal",
    "histogram.cl",
    "histogram.c",
    values,
    lambda given: {"counts": np.bincount(given["x"], minlength=BINS)},
    (
        Step("clear", (BINS,), (BINS,), {"counts": "counts"}),
        Step("histogram", (COUNT // EACH,), (BINS,), {"x": "x", "counts": "counts"}),
    ),
    (
        Loop("clear", BINS, ("counts",)),
        Loop("histogram", COUNT // (EACH * BINS), ("x", "counts")),
    ),
)
SORT = Case(
    "bitonic_sort",
    "sort.metal",
    "sort.cl",
    "sort.c",
    keys,
    lambda given: {"y": np.sort(given["x"])},
    sort_steps(),
    tuple(as_loop(step) for step in sort_steps()),
)
INTEGERS = [HISTOGRAM, SORT]
