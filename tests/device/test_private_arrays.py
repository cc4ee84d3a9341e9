"""Arrays of a thread's own, at indices that only the run knows."""

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
def test_indices_that_wrap_stay_within(device, compile_kernel, kind, fold, fast_math):
    """Vectorising such a loop as if its index went on and on reads past the array."""
    pipeline = compile_kernel(FOLD.format(type=kind, fold=fold), fast_math=fast_math)
    a = np.random.default_rng(0).integers(0, 9, (37, COUNT)).astype(np.float32)
    y = np.zeros(37, np.float32)
    arguments = {"a": a, "y": y, "count": np.array([COUNT], np.uint32)}
    device.run([_core.Dispatch(pipeline, arguments, threads_in_grid=(37,), threads=(32,))])
    np.testing.assert_array_equal(y, a.sum(axis=1))
