"""MLX's own kernels where there is Metal: what they are asked, and what becomes of the answer.

MLX itself is replaced by a recorder: these machines have no Metal.
"""

from __future__ import annotations

import mlx.core as mx
import numpy as np
import pytest

from metalbench import metal_kernel
from metalbench.mlx import kernel as mlx_kernel


class Recorder:
    """Stands for mx.fast.metal_kernel: doubles its first input."""

    def __init__(self):
        self.defined = self.called = None

    def __call__(self, **options):
        self.defined = options

        def kernel(**options):
            self.called = options
            x = options["inputs"][0]
            return [(2 * x).astype(dtype) for dtype in options["output_dtypes"]]

        return kernel


@pytest.fixture
def recorder(monkeypatch):
    recorder = Recorder()
    monkeypatch.setattr(mlx_kernel, "MLX_METAL_KERNEL", recorder)
    monkeypatch.setattr(mlx_kernel, "_METAL_IS_AVAILABLE", lambda: True)
    return recorder


CALL = {"grid": (3, 1, 1), "threadgroup": (3, 1, 1), "output_shapes": [(3,)]}


def test_auto_prefers_mlx(recorder):
    kernel = metal_kernel("f", ["x"], ["y"], "y[0] = x[0];", "// header", False, True)
    assert recorder.defined == {
        "name": "f",
        "input_names": ["x"],
        "output_names": ["y"],
        "source": "y[0] = x[0];",
        "header": "// header",
        "ensure_row_contiguous": False,
        "atomic_outputs": True,
    }
    x = mx.arange(3, dtype=mx.float32)
    options = {"init_value": 1.5, "verbose": True, "stream": mx.cpu}
    (y,) = kernel(inputs=[x], template=[("N", 3)], output_dtypes=[mx.float32], **CALL, **options)
    assert y.tolist() == [0, 2, 4]
    assert recorder.called["inputs"][0] is x
    assert recorder.called["template"] == [("N", 3)]
    assert {key: recorder.called[key] for key in (*CALL, *options)} == CALL | options
    assert repr(kernel) == "<metal_kernel f on mlx>"


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "bool"])
def test_numpy_inputs_give_numpy_outputs(recorder, dtype):
    kernel = metal_kernel("f", ["x"], ["y"], "", device="mlx")
    x = np.array([1, 0, 3], np.float32)
    template = [("T", np.float16), ("B", True)]
    (y,) = kernel(inputs=[x, 2], template=template, output_dtypes=[dtype], **CALL)
    given, scalar = recorder.called["inputs"]
    assert isinstance(given, mx.array)
    assert scalar == 2
    assert recorder.called["template"] == [("T", mx.float16), ("B", True)]
    assert isinstance(y, np.ndarray)
    assert y.dtype.name == dtype
    np.testing.assert_array_equal(y, (2 * x).astype(y.dtype))


def test_metal_kernel_can_replace_the_function_of_mlx(recorder, monkeypatch):
    monkeypatch.setattr(mx.fast, "metal_kernel", metal_kernel)
    kernel = mx.fast.metal_kernel(name="f", input_names=["x"], output_names=["y"], source="")
    (y,) = kernel(inputs=[mx.ones(3)], output_dtypes=[mx.float32], **CALL)
    assert y.tolist() == [2, 2, 2]


def test_math_modes_are_passed_on(recorder):
    metal_kernel("f", ["x"], ["y"], "", compile_options={"math_mode": "fast"})
    assert recorder.defined["compile_options"] == {"math_mode": "fast"}


def test_checked_builds_and_the_cpu_can_be_asked_for(recorder):
    for options in ({"checked": True}, {"device": "cpu"}):
        kernel = metal_kernel("f", ["x"], ["y"], "y[0] = x[2];", **options)
        (y,) = kernel(inputs=[np.arange(3.0)], output_dtypes=["float32"], **CALL)
        assert y[0] == 2
        assert recorder.defined is None
