"""Ten thousand timed windows leave nothing behind."""

from __future__ import annotations

import gc
import sys
from pathlib import Path

import numpy as np
import pytest

from metalbench import _core

pytestmark = pytest.mark.metal

WINDOWS = 10_000
SERIES = 10
MOST_GROWTH_BYTES = 1_000_000


def resident_bytes() -> int:
    fields = Path("/proc/self/status").read_text().split()
    return 1024 * int(fields[fields.index("VmRSS:") + 1])


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads Linux's /proc")
def test_timed_windows_do_not_add_up(metal: _core.Device, metal_double) -> None:
    metal_double.set("no_engine", 10_000)
    add = "kernel void add(device float* x, uint i [[thread_position_in_grid]]) { x[i] += 1; }"
    pipeline = metal.compile(add).pipeline()
    dispatch = _core.Dispatch(pipeline, {"x": np.zeros(64, np.float32)}, threadgroups=2, threads=32)

    def series() -> None:
        metal.sample(
            [dispatch],
            max_pairs=WINDOWS // SERIES,
            window_ns=1e5,
            warmup_ns=0,
            time_limit_ns=1e12,
        )

    # What Python and the allocator keep for a first time does not count.
    for _ in range(2):
        series()
    gc.collect()
    before, windows = resident_bytes(), metal_double.get("command_buffers")
    for _ in range(SERIES):
        series()
    gc.collect()
    assert metal_double.get("command_buffers") - windows >= WINDOWS
    assert resident_bytes() - before < MOST_GROWTH_BYTES
