"""Two kernels in turn, on a GPU that nothing may reach before its checked run."""

from __future__ import annotations

from typing import Any

import pytest
from scripted_gpu import ScriptedGpu

from metalbench.comparison.head_to_head import Contest, WrongKernelError, head_to_head
from metalbench.kernel import Kernel, parse
from metalbench.kernel.library import Library

SOURCE = """
// The larger of x and 0.
// dispatch: relu  threads_in_grid=(rows * cols)  threads=(256)
#include <metal_stdlib>
using namespace metal;
kernel void relu(device const float* x, device float* y, constant uint& rows, constant uint& cols,
                 uint i [[thread_position_in_grid]]) {
  y[i] = max(x[AT], 0.0f);
}
"""


class Untouched(ScriptedGpu):
    """A GPU on which nothing may run."""

    def run(self, *_: Any, **__: Any) -> float:
        raise AssertionError("it has reached the GPU")

    sample = run


def relu(at: str) -> Kernel:
    return parse(SOURCE.replace("AT", at), name="relu")


def test_a_kernel_that_is_out_of_bounds_never_reaches_the_gpu() -> None:
    task = Library().entry("relu").task
    contest = Contest(task, relu("i + 1"), relu("i"), ("relu@HEAD~1", "relu"))
    with pytest.raises(WrongKernelError, match=r"relu@HEAD~1 is not correct.*past the end of `x`"):
        head_to_head(Untouched(), contest)
