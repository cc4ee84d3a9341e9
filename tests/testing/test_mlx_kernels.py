"""Code over `mx.fast.metal_kernel` is checked as it stands."""

from __future__ import annotations

import mlx.core as mx
import numpy as np
import pytest

import metalbench
from metalbench.errors import DeclarationError
from metalbench.verify import Kind

X = np.linspace(0, 1, 64, dtype=np.float32)


def with_source(source):
    def exponential(x):
        """Compute the exponential as a project would: numpy arrays are converted to mlx."""
        assert mx.metal.is_available()
        x = mx.array(x)
        kernel = mx.fast.metal_kernel(
            name="exponential", input_names=["x"], output_names=["y"], source=source
        )
        (y,) = kernel(
            inputs=[x],
            grid=(x.size, 1, 1),
            threadgroup=(32, 1, 1),
            output_shapes=[x.shape],
            output_dtypes=[x.dtype],
        )
        return y

    return exponential


RIGHT = "uint i = thread_position_in_grid.x;\ny[i] = metal::exp(x[i]);"


def test_a_right_kernel_passes_and_mlx_is_restored():
    before = mx.fast.metal_kernel, mx.metal.is_available
    found = metalbench.assert_kernel(with_source(RIGHT), {"x": X}, np.exp)
    assert found.kernel == "exponential"
    assert found.outputs["output"].shape == X.shape
    assert (mx.fast.metal_kernel, mx.metal.is_available) == before


@pytest.mark.parametrize(
    ("source", "kind", "line"),
    [
        (RIGHT.replace("x[i]", "x[i + 1]"), Kind.OUT_OF_BOUNDS, 2),
        (RIGHT.replace("exp", "expp"), Kind.COMPILE_ERROR, 2),
        (RIGHT.replace("exp", "cos"), Kind.WRONG_RESULT, None),
    ],
)
def test_a_wrong_kernel_is_reported_with_its_line(source, kind, line):
    (finding,) = metalbench.check_kernel(with_source(source), {"x": X}, np.exp).findings
    assert (finding.kind, finding.place.line) == (kind, line)


def test_outputs_are_the_returned_ones():
    def two(x):
        return x, 2 * x

    assert metalbench.check_kernel(two, {"x": X}, lambda x: (x, 2 * x)).passed
    with pytest.raises(DeclarationError, match="output0, output1"):
        metalbench.check_kernel(two, {"x": X}, np.exp)
    with pytest.raises(DeclarationError, match="expected output0, output1, got y"):
        metalbench.check_kernel(two, {"x": X}, {"y": X})


def test_an_error_of_the_function_is_raised():
    def broken(x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        metalbench.check_kernel(broken, {"x": X}, np.exp)
