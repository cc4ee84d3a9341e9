"""METALBENCH_CHECKED: checked builds for a whole process."""

from __future__ import annotations

import numpy as np
import pytest

from metalbench import metal_kernel, patched_mlx
from metalbench.errors import DeclarationError, KernelFault
from metalbench.mlx import kernel as mlx_kernel

# The barrier between the two sides is missing.
REVERSED = """
    threadgroup float shared[64];
    uint i = thread_position_in_threadgroup.x;
    shared[i] = x[i];
    y[i] = shared[63 - i];
"""


def reverse(**options):
    kernel = metal_kernel("reverse", ["x"], ["y"], REVERSED, **options)
    x = np.arange(64, dtype=np.float32)
    (y,) = kernel(
        inputs=[x],
        grid=(64, 1, 1),
        threadgroup=(64, 1, 1),
        output_shapes=[(64,)],
        output_dtypes=["float32"],
    )
    return y


@pytest.mark.parametrize("value", [None, "", "0"])
def test_builds_are_plain_by_default(monkeypatch, value):
    if value is None:
        monkeypatch.delenv("METALBENCH_CHECKED", raising=False)
    else:
        monkeypatch.setenv("METALBENCH_CHECKED", value)
    assert reverse().shape == (64,)
    with pytest.raises(KernelFault, match=r"<reverse source>:5: "):
        reverse(checked=True)


def test_the_environment_checks_all_kernels(monkeypatch):
    monkeypatch.setenv("METALBENCH_CHECKED", "1")
    with pytest.raises(KernelFault, match=r"<reverse source>:5: "):
        reverse()
    with patched_mlx(), pytest.raises(KernelFault):
        reverse()
    assert reverse(checked=False).shape == (64,)
    assert repr(metal_kernel("f", [], ["y"], "")) == "<metal_kernel f on cpu, checked>"


def test_on_a_mac_too(monkeypatch):
    monkeypatch.setenv("METALBENCH_CHECKED", "1")
    monkeypatch.setattr(mlx_kernel, "_METAL_IS_AVAILABLE", lambda: True)
    with pytest.raises(KernelFault):
        reverse()
    with pytest.raises(DeclarationError, match=r"\[reverse\] METALBENCH_CHECKED=1: MLX has no che"):
        reverse(device="mlx")


def test_other_values_are_refused(monkeypatch):
    monkeypatch.setenv("METALBENCH_CHECKED", "yes")
    with pytest.raises(DeclarationError, match=r"METALBENCH_CHECKED: expected 1 or 0, got 'yes'"):
        metal_kernel("f", [], ["y"], "")
