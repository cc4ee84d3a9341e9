"""Kernels of which a GPU takes fewer threads than others, as those that need many registers."""

from __future__ import annotations

import numpy as np
import pytest

from metalbench import _core
from metalbench.errors import DispatchError
from metalbench.kernel.header import parse
from metalbench.kernel.prepare import compile_kernel
from metalbench.task import normal, output, task
from metalbench.task.workload import workload

pytestmark = pytest.mark.metal

SOURCE = """\
// dispatch: negate  threads_in_grid=(n)  threads=(TG)
// tune: TG = 256, 32, 128, 64
#include <metal_stdlib>
kernel void negate(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
  y[i] = -x[i];
}
"""


@task(
    sizes=dict(seed=dict(n=512)),
    inputs=dict(x=normal("n")),
    outputs=dict(y=output("n")),
    oracle=lambda x: -x,
    flops="n",
)
def negate(x):
    return -x


def bound(metal: _core.Device, limit: int, **tunables: int):
    # A different text: a pipeline that is still in use would be found again.
    kernel = parse(f"{SOURCE}// {limit}\n", name="negate")
    compiled = compile_kernel(metal, kernel, negate, tunables=tunables)
    return compiled.bind(workload(negate, "seed"))


def test_a_fitting_tune_value_is_suggested_and_runs(metal, metal_double) -> None:
    metal_double.set("max_threads", 96)
    with pytest.raises(DispatchError) as caught:
        bound(metal, 96)
    told = str(caught.value)
    assert "at most 96 threads in a threadgroup (the device takes 1024, but not of this" in told
    assert "got 256; TG = 64 fits" in told
    ready = bound(metal, 96, TG=64)
    metal.run(ready.dispatches)
    np.testing.assert_array_equal(ready.read("y"), ready.workload.expected["y"])


def test_no_tune_value_fits(metal, metal_double) -> None:
    metal_double.set("max_threads", 16)
    with pytest.raises(DispatchError, match=r"no value of `// tune: TG` is small enough"):
        bound(metal, 16)
