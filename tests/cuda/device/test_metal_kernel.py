"""`metalbench.metal_kernel` and `metalbench.check_kernel` on an NVIDIA GPU."""

from __future__ import annotations

import numpy as np
import pytest
from cuda.device.conftest import numbers

from metalbench import check_kernel, metal_kernel
from metalbench.errors import DeclarationError

SCALE = "y[thread_position_in_grid.x] = T(by) * x[thread_position_in_grid.x];"


def test_a_kernel_runs_on_the_gpu():
    kernel = metal_kernel("scale", ["x", "by"], ["y"], SCALE, device="cuda")
    assert repr(kernel) == "<metal_kernel scale on cuda>"
    x = numbers(100)
    (y,) = kernel(
        inputs=[x, 3.0],
        template=[("T", np.float32)],
        grid=(100, 1, 1),
        threadgroup=(32, 1, 1),
        output_shapes=[(100,)],
        output_dtypes=[np.float32],
    )
    np.testing.assert_array_equal(y, np.float32(3) * x)


def test_a_kernel_is_checked_on_the_cpu_and_judged_on_the_gpu():
    text = (
        "kernel void k(device const float* x, device float* y, uint i [[thread_position_in_grid]])"
    )
    options = {"grid": 100, "threadgroup": 32, "device": "cuda"}
    x = numbers(100)
    assert check_kernel(f"{text} {{ y[i] = 2 * x[i]; }}", {"x": x}, {"y": 2 * x}, **options).passed
    wrong = check_kernel(f"{text} {{ y[i] = 3 * x[i]; }}", {"x": x}, {"y": 2 * x}, **options)
    assert [each.kind.value for each in wrong.findings] == ["WRONG_RESULT"]
    beyond = check_kernel(f"{text} {{ y[i] = 2 * x[i + 9]; }}", {"x": x}, {"y": 2 * x}, **options)
    assert [each.kind.value for each in beyond.findings] == ["OUT_OF_BOUNDS"]


def test_checked_builds_are_refused(monkeypatch):
    arguments = ("scale", ["x", "by"], ["y"], SCALE)
    with pytest.raises(DeclarationError, match="the cuda device has no checked builds"):
        metal_kernel(*arguments, device="cuda", checked=True)
    monkeypatch.setenv("METALBENCH_CHECKED", "1")
    with pytest.raises(DeclarationError, match=r"METALBENCH_CHECKED=1.*device='cpu'"):
        metal_kernel(*arguments, device="cuda")
