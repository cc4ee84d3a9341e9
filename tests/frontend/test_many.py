"""Kernels of a source that are built at once are what each is by itself."""

from __future__ import annotations

import numpy as np
import pytest

from metalbench import _core
from metalbench.errors import CompileError
from metalbench.msl import engine

SOURCE = """
#include <metal_stdlib>
using namespace metal;

static inline float scaled(float x) { return 3.0f * x; }

kernel void tripled(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
  y[i] = scaled(x[i]);
}
kernel void squared(device float* y [[buffer(1)]], device const float* x [[buffer(0)]],
                    uint i [[thread_position_in_grid]]) {
  y[i] = x[i] * x[i];
}
kernel void counted(device atomic_int* n, uint i [[thread_position_in_grid]]) {
  atomic_fetch_add_explicit(n, int(i), memory_order_relaxed);
}
kernel void swapped(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
  threadgroup float kept[64];
  kept[i] = x[i];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  y[i] = kept[63 - i];
}
"""
BROKEN = (
    SOURCE
    + """
kernel void broken(device float* y) { y[0] = nobody(1); }
"""
)
NAMES = ["tripled", "squared", "counted", "swapped"]


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("METALBENCH_CACHE", str(tmp_path))


def built(source, names):
    program = engine.parse(source, "many.metal")
    engine.build_many(program, names, fast_math=False)
    return {name: engine.build(program, name, fast_math=False) for name in names}


def test_kernels_that_do_not_synchronise_lie_in_objects_together(monkeypatch):
    monkeypatch.setattr("metalbench.msl.building.many.usable_cores", lambda: 1)
    found = built(SOURCE, NAMES)
    paths = [found[name].path for name in NAMES]
    assert paths[0] == paths[1] == paths[2] != paths[3]
    assert [found[name].entry_name for name in NAMES] == ["_0", "_1", "_2", ""]
    assert [found[name].any_order for name in NAMES] == [True, True, False, True]
    assert found["squared"].arguments[0]["name"] == "y"


def test_an_object_has_no_more_than_one_run_of_clang_is_good_for(monkeypatch):
    monkeypatch.setattr("metalbench.msl.building.many.usable_cores", lambda: 1)
    monkeypatch.setattr("metalbench.msl.building.many._MOST", 2)
    found = built(SOURCE, NAMES[:3])
    assert len({each.path for each in found.values()}) == 2


def test_they_compute_what_they_did():
    device = _core.open("cpu")
    library = device.compile(SOURCE, filename="many.metal", fast_math=False)
    library.prepare(NAMES)
    x = np.arange(64, dtype=np.float32)
    given, made, count = (device.allocate(each) for each in (256, 256, 4))
    given.numpy("float32")[:] = x
    expected = {"tripled": 3 * x, "squared": x * x, "swapped": x[::-1]}
    for name, wanted in expected.items():
        launch = _core.Dispatch(
            library.pipeline(name), {"x": given, "y": made}, threadgroups=1, threads=64
        )
        device.run([launch])
        np.testing.assert_array_equal(made.numpy("float32"), wanted)
    count.numpy("int32")[:] = 0
    launch = _core.Dispatch(library.pipeline("counted"), {"n": count}, threadgroups=2, threads=64)
    device.run([launch])
    assert count.numpy("int32")[0] == sum(range(128))


def test_what_does_not_compile_is_told_by_the_one_who_asks_for_it():
    device = _core.open("cpu")
    library = device.compile(BROKEN, filename="many.metal", fast_math=False)
    library.prepare([*NAMES, "broken"])
    assert library.pipeline("tripled").name == "tripled"
    with pytest.raises(CompileError, match=r"many.metal:\d+:\d+: error: .*nobody"):
        library.pipeline("broken")


def test_nothing_is_built_twice(monkeypatch):
    built(SOURCE, NAMES)
    monkeypatch.setattr("metalbench.msl.building.many.compile_many", None)
    built(SOURCE, NAMES)
