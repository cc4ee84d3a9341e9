"""The work of a dispatch from the counts of its source."""

from __future__ import annotations

import numpy as np
import pytest

from metalbench.profiling.counted_work import work_of_dispatch

N = 1024


def test_work_of_dispatch_is_of_one_simdgroup(counted) -> None:
    found = counted(
        """kernel void f(device const float* x, device float* y,
                         uint i [[thread_position_in_grid]]) { y[i] = x[i] + 1.0f; }""",
        {"x": np.ones(N, np.float32), "y": np.zeros(N, np.float32)},
        (N,),
        (64,),
    )
    work = work_of_dispatch(found, N // 64, 0)
    assert (work.threadgroups, work.simdgroups, work.active_lanes) == (N // 64, 2, 1)
    assert work.device_lines == 2
    # 128 bytes each of a read and a write, 64 bytes a cycle.
    assert work.l1_cycles == 4
    assert work.unique_read == work.unique_written == 4 * N


def test_work_of_dispatch_has_the_slots_of_divergent_lanes(counted) -> None:
    source = """kernel void f(device const float* x, device float* y,
                              uint i [[thread_position_in_grid]]) {{
                    float s = x[i];
                    if ({0}) for (uint k = 0; k < 64; ++k) s = s * 0.5f + 1.0f;
                    y[i] = s; }}"""
    works = []
    for condition in ("i % 32 < 4", "true"):
        arrays = {"x": np.ones(N, np.float32), "y": np.zeros(N, np.float32)}
        found = counted(source.format(condition), arrays, (N,), (64,))
        works.append(work_of_dispatch(found, N // 64, 0))
    part, whole = works
    assert part.active_lanes < 0.3
    assert part.slots == pytest.approx(whole.slots, rel=0.5)
