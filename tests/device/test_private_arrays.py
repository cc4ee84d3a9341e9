"""Arrays of a thread: at indices that only the run knows, of matrices, and large ones."""

from __future__ import annotations

import numpy as np
import pytest

from metalbench import _core

COUNT = 1000
FOLD = """
kernel void fold(device const float* a, device float* y, constant uint& count,
                 uint row [[thread_position_in_grid]]) {{
  {type};
  for (uint i = 0; i < count; ++i) sum[i {fold}] += a[row * count + i];
  y[row] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
}}
"""


@pytest.mark.parametrize("fast_math", [False, True])
@pytest.mark.parametrize("fold", ["% 4", "& 3"])
@pytest.mark.parametrize("kind", ["float sum[4] = {0, 0, 0, 0}", "float4 sum = 0"])
def test_wrapped_indices_stay_in_bounds(device, compile_kernel, kind, fold, fast_math):
    """Vectorising such a loop as if its index went on and on reads past the array."""
    pipeline = compile_kernel(FOLD.format(type=kind, fold=fold), fast_math=fast_math)
    a = np.random.default_rng(0).integers(0, 9, (37, COUNT)).astype(np.float32)
    y = np.zeros(37, np.float32)
    arguments = {"a": a, "y": y, "count": np.array([COUNT], np.uint32)}
    device.run([_core.Dispatch(pipeline, arguments, threads_in_grid=(37,), threads=(32,))])
    np.testing.assert_array_equal(y, a.sum(axis=1))


LARGE = """
kernel void large(device const uint* a, device uint* y, uint i [[thread_position_in_grid]]) {
  uint seen[300] = {};
  for (uint k = 0; k < 40; ++k) seen[a[k * 32 + i] % 300] += 1;
  uint most = 0;
  for (uint k = 0; k < 300; ++k) most = max(most, seen[k]);
  y[i] = simd_sum(most);
}
"""


def test_a_large_array_is_cleared_by_the_c_library(device, compile_kernel, monkeypatch):
    """The linker does not know the function, and the process has it."""
    monkeypatch.setenv("METALBENCH_ENGINE", "vectors")
    pipeline = compile_kernel(LARGE)
    if device.kind == "cpu":
        assert pipeline.engine == "vectors", pipeline.engine_reason
    a = np.random.default_rng(0).integers(0, 12, (40, 32)).astype(np.uint32)
    y = np.zeros(32, np.uint32)
    device.run([_core.Dispatch(pipeline, {"a": a, "y": y}, threads_in_grid=(32,), threads=(32,))])
    most = [np.bincount(a[:, lane]).max() for lane in range(32)]
    np.testing.assert_array_equal(y, np.full(32, sum(most)))


UNROLLED_TILE = """
#include <metal_simdgroup_matrix>
using namespace metal;
[[kernel]] void multiply(device const float* a, device const float* b, device float* c) {
  simdgroup_float8x8 sums[4][4];
  #pragma clang loop unroll(full)
  for (uint i = 0; i < 4; ++i)
    #pragma clang loop unroll(full)
    for (uint j = 0; j < 4; ++j) sums[i][j].thread_elements() = float2(0.0f);
  #pragma clang loop unroll(full)
  for (uint k = 0; k < 8; ++k)
    #pragma clang loop unroll(full)
    for (uint i = 0; i < 4; ++i)
      #pragma clang loop unroll(full)
      for (uint j = 0; j < 4; ++j) {
        simdgroup_float8x8 left, right;
        simdgroup_load(left, a + 8 * i * 64 + 8 * k, 64);
        simdgroup_load(right, b + 8 * k * 32 + 8 * j, 32);
        simdgroup_multiply_accumulate(sums[i][j], left, right, sums[i][j]);
      }
  #pragma clang loop unroll(full)
  for (uint i = 0; i < 4; ++i)
    #pragma clang loop unroll(full)
    for (uint j = 0; j < 4; ++j) simdgroup_store(sums[i][j], c + 8 * i * 32 + 8 * j, 32);
}
"""


def test_full_unrolling_leaves_a_kernel_of_many_matrices_small(device, compile_kernel):
    """128 products whose elements threads hold would be too many instructions for vectors."""
    pipeline = compile_kernel(UNROLLED_TILE)
    if device.kind == "cpu":
        assert pipeline.engine == "vectors", pipeline.engine_reason
    generator = np.random.default_rng(0)
    a = generator.integers(-4, 5, (32, 64)).astype(np.float32)
    b = generator.integers(-4, 5, (64, 32)).astype(np.float32)
    c = np.zeros((32, 32), np.float32)
    arguments = {"a": a, "b": b, "c": c}
    device.run([_core.Dispatch(pipeline, arguments, threadgroups=(1,), threads=(32,))])
    np.testing.assert_array_equal(c, a @ b)


_COMPILED = (".ll", ".so")
# The definition makes a source with and one without a pragma take the preprocessor.
SUM_OF_QUADS = """
#define QUADS 8
kernel void sum(device const float4* a, device float* y, uint i [[thread_position_in_grid]]) {
  float4 kept[QUADS];
  PRAGMA
  for (uint k = 0; k < 8; ++k) kept[k] = a[k * 32 + i];
  float4 all = 0.0f;
  PRAGMA
  for (uint k = 0; k < 8; ++k) all += kept[k];
  y[i] = SUM;
}
"""


@pytest.mark.parametrize("hint", ["enable", "disable"])
@pytest.mark.parametrize("result", ["simd_sum(all.x + all.w)", "all.x + all.w"])
def test_processors_ignore_hints_to_unroll(
    device, compile_kernel, hint, result, tmp_path, monkeypatch
):
    """With a SIMD-group function a kernel is vectorised, without one it is a loop over threads."""
    if device.kind != "cpu":
        pytest.skip("other compilers follow the hints")
    monkeypatch.setenv("METALBENCH_CACHE", str(tmp_path))
    source = SUM_OF_QUADS.replace("SUM", result)
    compiled = []
    for pragma in ("", f"#pragma clang loop unroll({hint})"):
        compile_kernel(source.replace("PRAGMA", pragma))
        compiled.append({each.name for each in tmp_path.rglob("*.*") if each.suffix in _COMPILED})
    assert compiled[0]
    assert compiled[1] == compiled[0]
