"""Test compile_many: a batch of kernels gives the same results as separate builds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from metalbench import _core
from metalbench.errors import CompileError
from metalbench.msl import engine
from metalbench.msl.frontend.standards import QUICK_MACRO
from metalbench.msl.ir.cut import drop_unused_metadata
from metalbench.msl.toolchain import compile, compile_batch

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
kernel void summed(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
  threadgroup float parts[2];
  const float total = simd_sum(scaled(x[i]));
  if (i % 32 == 0) parts[i / 32] = total;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  y[i] = parts[0] + parts[1];
}
"""
BROKEN = (
    SOURCE
    + """
kernel void broken(device float* y) { y[0] = undeclared(1); }
"""
)
NAMES = ["tripled", "squared", "counted", "swapped"]


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("METALBENCH_CACHE", str(tmp_path))


def build_kernels(source, names):
    program = engine.parse(source, "many.metal")
    engine.build_many(program, names, fast_math=False)
    return {name: engine.build(program, name, fast_math=False) for name in names}


def test_compile_many_puts_loops_into_common_objects(monkeypatch):
    monkeypatch.setattr("metalbench.msl.toolchain.compile_batch.usable_cores", lambda: 1)
    found = build_kernels(SOURCE, NAMES)
    paths = [found[name].path for name in NAMES]
    assert paths[0] == paths[1] == paths[2] != paths[3]
    assert [found[name].entry_name for name in NAMES] == ["_0", "_1", "_2", ""]
    assert [found[name].any_order for name in NAMES] == [True, True, False, True]
    assert found["squared"].arguments[0]["name"] == "y"


def test_compile_many_parses_vectors_together(monkeypatch):
    starts = []

    def generate(code, *rest, **kind):
        starts.append(code.text.count("MB_ONE_OF_MANY"))
        return compile.generate_ir(code, *rest, **kind)

    monkeypatch.setattr(compile_batch, "generate_ir", generate)
    found = build_kernels(SOURCE, ["swapped", "summed"])
    assert starts == [2]
    monkeypatch.setattr("metalbench.msl.toolchain.compile_batch._MIN_BATCH", 3)
    for name, bytes_ in (("swapped", 256), ("summed", 8)):
        alone = engine.build(engine.parse(SOURCE, "many.metal"), name, fast_math=True)
        assert (found[name].engine, found[name].widths) == ("vectors", alone.widths)
        lane = Path(found[name].lane).read_text()
        assert lane.count("define hidden void @mb_vector_source(") == 1
        assert f"[{bytes_} x i8]" in lane
        # Launches of other shapes, and of what does not fit as vectors, are compiled from there.
        assert Path(found[name].entry(32, rows=False)).exists()
        assert f"MB_KERNEL(::{name}, 1," in found[name].lowered


def test_compile_many_limits_the_kernels_of_an_object(monkeypatch):
    monkeypatch.setattr("metalbench.msl.toolchain.compile_batch.usable_cores", lambda: 1)
    monkeypatch.setattr("metalbench.msl.toolchain.compile_batch._MAX_BATCH", 2)
    found = build_kernels(SOURCE, NAMES[:3])
    assert len({each.path for each in found.values()}) == 2


def test_compile_many_compiles_parts_of_a_module(monkeypatch):
    monkeypatch.setattr("metalbench.msl.toolchain.compile_batch.usable_cores", lambda: 3)
    found = build_kernels(SOURCE, NAMES[:3])
    assert len({each.path for each in found.values()}) == 3
    assert [found[name].entry_name for name in NAMES[:3]] == ["_0", "_1", "_2"]


def test_compile_many_splits_a_module_that_is_too_large_for_all_passes(monkeypatch):
    monkeypatch.setattr("metalbench.msl.toolchain.compile_batch.usable_cores", lambda: 1)
    monkeypatch.setattr(compile, "O3_LIMITS", compile.SizeLimits(2_500, 10_000, 600, 70))
    kernel = SOURCE[SOURCE.index("kernel void squared") : SOURCE.index("kernel void counted")]
    names = [f"squared{number}" for number in range(12)]
    source = SOURCE + "".join(kernel.replace("squared", each) for each in names)
    whole = build_kernels(source, names)
    assert all("few optimisations" in each.reason for each in whole.values())
    monkeypatch.setattr(compile_batch, "MAX_PART_LENGTH", 24 * 2_500 // 2)
    # Another text, which is not in the cache.
    split = build_kernels(source + "\n", names)
    assert len({each.path for each in split.values()}) > 1
    assert all("few optimisations" not in each.reason for each in split.values())


def test_unused_metadata_is_dropped():
    ir = """define void @f() !dbg !4 {
  ret void, !dbg !7
}
!llvm.module.flags = !{!0}
!0 = !{i32 1, !"x", i32 2}
!4 = distinct !DISubprogram(unit: !5)
!5 = distinct !DICompileUnit(file: !6)
!6 = !DIFile(filename: "a")
!7 = !DILocation(line: 1, scope: !4)
!8 = !DILocation(line: 2, scope: !9)
!9 = distinct !DISubprogram(unit: !5)"""
    kept = drop_unused_metadata(ir)
    assert kept == ir[: ir.index("\n!8")]
    assert drop_unused_metadata(kept) == kept


def test_compile_many_gives_equal_results():
    device = _core.open("cpu")
    library = device.compile(SOURCE, filename="many.metal", fast_math=False)
    library.prepare([*NAMES, "summed"])
    x = np.arange(64, dtype=np.float32)
    given, made, count = (device.allocate(each) for each in (256, 256, 4))
    given.numpy("float32")[:] = x
    expected = {"tripled": 3 * x, "squared": x * x, "swapped": x[::-1]}
    expected["summed"] = np.full(64, 3 * x.sum())
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


def test_build_reports_errors_that_compile_many_ignores():
    device = _core.open("cpu")
    library = device.compile(BROKEN, filename="many.metal", fast_math=False)
    library.prepare([*NAMES, "broken"])
    assert library.pipeline("tripled").name == "tripled"
    with pytest.raises(CompileError, match=r"many.metal:\d+:\d+: error: .*undeclared"):
        library.pipeline("broken")


def test_build_kernels_builds_each_kernel_once(monkeypatch):
    build_kernels(SOURCE, NAMES)
    monkeypatch.setattr("metalbench.msl.toolchain.compile_batch.compile_many", None)
    build_kernels(SOURCE, NAMES)


def test_quick_batches_run_few_passes(monkeypatch):
    monkeypatch.setattr("metalbench.msl.toolchain.compile_batch.usable_cores", lambda: 1)
    flags = []
    plain = compile_batch.assemble

    def assemble(*arguments, **options):
        flags.append(arguments[4])
        return plain(*arguments, **options)

    monkeypatch.setattr(compile_batch, "assemble", assemble)
    paths = []
    for macros in ({}, {QUICK_MACRO: "1"}):
        program = engine.parse(SOURCE, "many.metal", macros)
        engine.build_many(program, ["tripled", "squared"])
        paths.append(engine.build(program, "tripled").path)
    assert paths[0] != paths[1]
    assert ["-O3" in each for each in flags] == [True, False]
    assert ["-O1" in each for each in flags] == [False, True]
