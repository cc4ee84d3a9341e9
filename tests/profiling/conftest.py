"""Metal kernels without a task, run once in a counted build."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from metalbench import _core
from metalbench.kernel.memory import COUNTS, CountsBuffer, build_tables
from metalbench.kernel.prepare import Geometry
from metalbench.profiling.counts import DispatchCounts, read_dispatch_counts

HEAD = "#include <metal_stdlib>\nusing namespace metal;\n"
Counting = Callable[..., DispatchCounts]


def run_counted(
    source: str, arguments: dict[str, Any], grid: tuple[int, ...], threads: tuple[int, ...]
) -> DispatchCounts:
    """Dispatch the one kernel of a source over `grid` threads, and say what it did."""
    device = _core.open("cpu")
    text = HEAD + source
    library = device.compile(text, filename="k.metal", counted=True, fast_math=False)
    pipeline = library.pipeline()
    options = {"filename": "k.metal", "macros": {}, "include_dirs": []}
    table = build_tables(text, [pipeline.name], options, fast_math=False)[pipeline.name]
    buffer = CountsBuffer(device, table)
    full = (*grid, 1, 1)[:3], (*threads, 1, 1)[:3]
    given = {**arguments, COUNTS: buffer.buffer}
    dispatch = _core.Dispatch(pipeline, given, threads_in_grid=full[0], threads=full[1])
    device.run([dispatch])
    buffers = [each for each in pipeline.arguments if each.kind == "buffer"]
    constants = {i for i, each in enumerate(buffers) if each.address_space == "constant"}
    return read_dispatch_counts(
        Geometry(pipeline.name, full[1], full[0], True, {}), buffer, constants
    )


@pytest.fixture
def counted() -> Counting:
    return run_counted
