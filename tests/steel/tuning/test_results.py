"""Results of transformations that apply to no plain kernel of the benchmarks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from plain_sources import element_kernel, row_kernel

from agent_steel.tuning.loops import HalfAccumulation, PeeledTail
from metalbench import _core


def run(source: str, threads: int, **arguments: Any) -> np.ndarray:
    """Return `y` after a run of the kernel `f`."""
    device = _core.open("cpu")
    # Fast math would add in another order.
    pipeline = device.compile(source, fast_math=False).pipeline("f")
    device.run([_core.Dispatch(pipeline, arguments, threads_in_grid=threads, threads=32)])
    return arguments["y"]


def test_peeled_tails_give_the_same_elements() -> None:
    body = (
        "for (uint k = 0; k < 4; ++k) { if (4 * i + k < n) { y[4 * i + k] = 2 * x[4 * i + k]; } }"
    )
    kernel = element_kernel(body)
    versions = list(PeeledTail().versions(kernel))
    assert versions
    for size in (61, 62, 63, 64):
        x = np.arange(size, dtype=np.float32)
        for source in (kernel.source, *versions):
            # Elements behind the last one must stay as they are.
            y = run(source, 16, x=x, y=np.full(72, -1, np.float32), n=size)
            np.testing.assert_array_equal(y[:size], 2 * x)
            assert (y[size:] == -1).all()


def test_half_accumulation_rounds_each_sum_to_half() -> None:
    body = """float s = 0;
      for (uint c = 0; c < cols; ++c) { s += x[row * cols + c]; }
      y[row] = s;"""
    kernel = row_kernel(body, "device const half* x, device half* y")
    (source,) = HalfAccumulation().versions(replace(kernel, dtypes=("float16",)))
    x = np.random.default_rng(0).uniform(0, 1, (4, 300)).astype(np.float16)
    exact = x.astype(np.float64).sum(1)
    in_float = run(kernel.source, 4, x=x, y=np.zeros(4, np.float16), cols=300)
    in_half = run(source, 4, x=x, y=np.zeros(4, np.float16), cols=300)
    np.testing.assert_array_equal(in_float, exact.astype(np.float16))
    wanted = np.zeros(4, np.float16)
    for column in x.T:
        wanted = (wanted + column).astype(np.float16)
    np.testing.assert_array_equal(in_half, wanted)
    assert (in_half != in_float).any()
