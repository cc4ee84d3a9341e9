"""The timing model: formulas of occupancy, and directions in which times change."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from metalbench.chips import CHIPS
from metalbench.profiling.gpu_chips import GPU_CHIPS
from metalbench.profiling.gpu_timing import (
    Parameters,
    WorkTable,
    count_resident_groups,
    count_resident_threads,
    predict_seconds,
)
from metalbench.profiling.gpu_work import DispatchWork

WORK = DispatchWork(
    threadgroups=1024,
    simdgroups=8,
    slots=400,
    complex=100,
    path_in_order=900,
    path_alu=700,
    path_device=4,
    path_threadgroup=2,
    path_private=1,
    barriers=2,
    l1_cycles=20,
    device_lines=16,
    private_lines=4,
    private_bytes=64,
    threadgroup_cycles=30,
    conflicts=2,
    halves=64,
    spilled_lines=1,
    threadgroup_bytes=8192,
    unique_read=1e6,
    unique_written=1e6,
    missed_code=10,
)
M1 = GPU_CHIPS["m1"]


NOMINAL = Parameters()


def predict(work: DispatchWork, parameters: Parameters = NOMINAL) -> float:
    return float(predict_seconds(WorkTable([work]), M1, parameters)[0])


# 16-bit registers of a thread and the threads of a core: Mesa, src/asahi/compiler/
# agx_performance.c, `occupancies`.
@pytest.mark.parametrize(
    ("halves", "threads"),
    [
        (104, 1024),
        (112, 896),
        (128, 832),
        (136, 768),
        (144, 704),
        (160, 640),
        (184, 576),
        (256, 384),
    ],
)
def test_count_resident_threads_has_the_steps_of_mesa(halves: int, threads: int) -> None:
    found = float(count_resident_threads(np.array([halves]))[0])
    assert found == pytest.approx(threads, rel=0.09)


def test_count_resident_threads_has_limits() -> None:
    found = count_resident_threads(np.array([1, 16, 256, 4000])).tolist()
    assert found == [3072, 3072, 416, 416]


@pytest.mark.parametrize(
    ("nbytes", "groups"), [(1, 4), (16384, 3), (20480, 3), (32768, 1), (65536, 1)]
)
def test_count_resident_groups_is_limited_by_threadgroup_memory(nbytes: int, groups: int) -> None:
    work = replace(WORK, halves=104, simdgroups=8, threadgroup_bytes=nbytes)
    assert count_resident_groups(WorkTable([work])).tolist() == [groups]


@pytest.mark.parametrize(
    "field",
    [
        *(
            "threadgroups",
            "slots",
            "complex",
            "path_in_order",
            "path_alu",
            "path_device",
            "path_threadgroup",
        ),
        *("path_private", "barriers", "l1_cycles", "device_lines", "private_lines", "conflicts"),
        *("threadgroup_cycles", "spilled_lines", "unique_read", "unique_written", "missed_code"),
    ],
)
def test_predict_seconds_grows_with_work(field: str) -> None:
    more = replace(WORK, **{field: 4 * getattr(WORK, field)})
    assert predict(more) > predict(WORK)


@pytest.mark.parametrize("field", ["halves", "threadgroup_bytes"])
def test_predict_seconds_grows_if_fewer_threadgroups_are_resident(field: str) -> None:
    more = replace(WORK, **{field: 3.5 * getattr(WORK, field)})
    assert predict(more) > predict(WORK)


def test_predict_seconds_has_a_tail_of_threadgroups() -> None:
    full, next_full = (replace(WORK, threadgroups=count * M1.cores) for count in (4, 5))
    one_more = replace(WORK, threadgroups=4 * M1.cores + 1)
    assert predict(full) < predict(one_more)
    # One core has a fifth threadgroup, and the others wait for it.
    assert predict(one_more) == pytest.approx(predict(next_full), rel=1e-3)


def test_predict_seconds_joins_bounds_by_their_norm() -> None:
    low, high = (predict(WORK, replace(NOMINAL, norm=norm)) for norm in (8.0, 1.0))
    assert low < high


def test_parameters_survive_the_vector_of_logarithms() -> None:
    again = Parameters.from_vector(Parameters().vector())
    assert again.vector() == pytest.approx(Parameters().vector())


def test_gpu_chips_have_a_source_for_every_number() -> None:
    assert GPU_CHIPS.keys() == CHIPS.keys()
    for chip in GPU_CHIPS.values():
        for figure in (chip.clock, chip.l2, chip.slc, chip.dram, chip.slc_bandwidth):
            assert figure.value > 0
            assert figure.kind in ("measured", "published", "derived", "assumed")
            assert (figure.kind == "assumed") == (figure.source == "no source")
        assert chip.dram.kind == "published"
