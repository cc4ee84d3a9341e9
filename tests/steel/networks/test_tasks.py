"""Which task an operation is, and why it has none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from agent_steel.networks.operation import ArrayType, Operation
from agent_steel.networks.tasks import UNKNOWN, FoundTask, find_difference, find_task
from metalbench import _core
from metalbench.kernel.library import Library

LIBRARY = Library()
CPU = _core.open("cpu")


def array(*shape: int, dtype: str = "float32") -> ArrayType:
    return ArrayType(shape, dtype)


def operation(name: str, result: ArrayType, **arguments: Any) -> Operation:
    return Operation(name, tuple(arguments.items()), (result,))


X, ROW = array(2, 16, 32), array(32)


@pytest.mark.parametrize(
    ("asked", "task", "size"),
    [
        (operation("relu", X, x=X), "relu", "rows=32,cols=32"),
        (operation("silu", X, x=X), "swish", "rows=32,cols=32"),
        (operation("gelu", X, self=X, approximate="none"), "gelu", "rows=32,cols=32"),
        (operation("gelu", X, self=X, approximate="tanh"), "gelu_tanh", "rows=32,cols=32"),
        (operation("softmax", X, a=X, axis=-1), "softmax", "rows=32,cols=32"),
        (operation("softmax", X, self=X, dim=2, dtype=None), "softmax", "rows=32,cols=32"),
        (operation("argmax", X, a=X, axis=(-1,)), "argmax", "rows=32,cols=32"),
        (operation("add", X, a=X, b=X), "matrix_add", "rows=32,cols=32"),
        (operation("add", X, self=X, other=ROW, alpha=1), "bias_add", "rows=32,cols=32"),
        (
            operation("linear", X, input=X, weight=array(48, 32), bias=array(48)),
            "linear_bias",
            "rows=32,inputs=32,outputs=48",
        ),
        (
            operation("linear", X, input=X, weight=array(48, 32), bias=None),
            "linear_xwt",
            "rows=32,inner=32,features=48",
        ),
        (
            operation("addmm", X, c=array(48), a=X, b=array(32, 48)),
            "linear_bias",
            "rows=32,inputs=32,outputs=48",
        ),
        (operation("matmul", X, x0=X, x1=array(32, 48)), "rect_mm", "m=32,k=32,n=48"),
        (
            operation("bmm", X, self=X, mat2=array(2, 32, 8)),
            "batch_mm",
            "batch=2,m=16,k=32,n=8",
        ),
        (
            operation("layer_norm", X, x=X, weight=ROW, bias=ROW, eps=1e-5),
            "layer_norm_affine",
            "rows=32,cols=32",
        ),
        (operation("rms_norm", X, x=X, weight=ROW, eps=1e-5), "rms_norm_weight", "rows=32,cols=32"),
        (
            operation(
                "scaled_dot_product_attention",
                array(2, 4, 16, 32),
                q=array(2, 4, 16, 32),
                k=array(2, 2, 16, 32),
                v=array(2, 2, 16, 32),
                scale=32**-0.5,
                mask="causal",
            ),
            "sdpa_causal",
            "heads=8,kv_heads=4,tokens=16,dims=32",
        ),
        (
            operation("embedding", X, weight=array(100, 32), indices=array(2, 16, dtype="int64")),
            "embedding",
            "tokens=32,vocabulary=100,dims=32",
        ),
        (
            operation("conv2d", X, x=array(1, 8, 8, 4), weight=array(6, 3, 3, 4), stride=1),
            "conv2d",
            "batch=1,height=8,width=8,channels=4,filters=6",
        ),
        (
            operation(
                "conv2d",
                X,
                input=array(1, 4, 8, 9),
                weight=array(6, 4, 3, 3),
                stride=(1, 1),
                padding=(1, 1),
                dilation=(1, 1),
                groups=1,
            ),
            "conv2d",
            "batch=1,height=10,width=11,channels=4,filters=6",
        ),
        (
            operation("conv2d", X, input=array(1, 4, 8, 8), weight=array(4, 1, 3, 3), groups=4),
            "depthwise_conv2d",
            "batch=1,height=8,width=8,channels=4",
        ),
        (
            operation(
                "max_pool2d", X, self=array(2, 4, 8, 6), kernel_size=(2, 2), stride=(), padding=(0,)
            ),
            "max_pool2d",
            "batch=2,height=8,width=6,channels=4",
        ),
    ],
    ids=lambda each: each.name if isinstance(each, Operation) else "",
)
def test_operations_have_the_task_of_their_size(asked: Operation, task: str, size: str) -> None:
    found = find_task(asked, LIBRARY, CPU)
    assert isinstance(found, FoundTask), found
    assert (found.entry.name, found.size, found.dtype) == (task, size, "float32")


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        (operation("fold", X, x=X), UNKNOWN),
        (operation("softmax", X, a=X, axis=0), "along the last axis, not along 0"),
        (operation("softmax", X, a=X), "along the last axis, not along None"),
        (operation("leaky_relu", X, x=X, negative_slope=0.2), "negative_slope = 0.2"),
        (operation("softplus", X, self=X, beta=2, threshold=20), "beta = 2"),
        (operation("clip", X, a=X, a_min=-2, a_max=2), "limits are -1 and 1"),
        (operation("cumsum", X, a=X, axis=-1, reverse=True), "reverse = True"),
        (operation("layer_norm", X, x=X, weight=ROW, bias=ROW, eps=1e-3), "eps is 0.001"),
        (operation("add", X, a=X, x1=2.0), "this is a number"),
        (operation("add", X, a=X, b=array(16, 1)), "arrays of one shape"),
        (operation("add", X, self=X, other=X, alpha=2), "alpha = 2"),
        (operation("matmul", X, a=array(3, 4, 5, 6), b=array(4, 6, 5)), "products with one matrix"),
        (operation("addmm", X, c=X, a=X, b=array(32, 32)), "adds one row"),
        (operation("relu", X, x=array(4, 4, dtype="int32")), "one floating-point type"),
        (operation("linear", X, x=X, w=array(4, 32, dtype="float16")), "one floating-point type"),
        (
            operation("conv2d", X, input=array(1, 3, 8, 8), weight=array(4, 3, 5, 5)),
            "3 by 3 or 1 by 1",
        ),
        (
            operation("conv2d", X, x=array(1, 8, 8, 4), weight=array(6, 3, 3, 4), padding=(1, 2)),
            "padding = (1, 2)",
        ),
        (
            operation("max_pool2d", X, self=array(1, 3, 8, 8), kernel_size=3, stride=2),
            "windows of 2 by 2",
        ),
        (
            operation("avg_pool2d", X, self=array(1, 3, 8, 8), kernel_size=2, ceil_mode=True),
            "ceil_mode = True",
        ),
        (
            operation(
                "scaled_dot_product_attention",
                X,
                q=array(1, 4, 1, 32),
                k=array(1, 4, 16, 32),
                v=array(1, 4, 16, 32),
            ),
            "as many queries as keys",
        ),
        (
            operation(
                "scaled_dot_product_attention",
                X,
                **dict.fromkeys("qkv", array(1, 4, 16, 32)),
                scale=0.5,
            ),
            "not 0.5",
        ),
    ],
    ids=lambda each: each.name if isinstance(each, Operation) else "",
)
def test_other_operations_have_a_reason(asked: Operation, reason: str) -> None:
    found = find_task(asked, LIBRARY, CPU)
    assert isinstance(found, str)
    assert reason in found


def test_find_difference_compares_the_reference_of_the_task_with_the_operation() -> None:
    random = np.random.default_rng(0)
    x, w = (random.normal(size=shape).astype(np.float32) for shape in ((4, 8), (6, 8)))
    bias = np.ones(6, np.float32)
    asked = operation("linear", array(4, 6), x=array(4, 8), w=array(6, 8), bias=array(6))
    found = find_task(asked, LIBRARY, CPU)
    assert isinstance(found, FoundTask)
    inputs, output = {"x": x, "w": w, "bias": bias}, x @ w.T + bias
    assert find_difference(found, inputs, output) == ""
    assert "other results, by up to 1" in find_difference(found, inputs, output + 1)
    assert "elements of results" in find_difference(found, inputs, output[:2])
    output[0, 0] = np.nan
    assert "not finite" in find_difference(found, inputs, output)


def test_float16_operations_have_kernels_of_their_type() -> None:
    half = array(4, 32, dtype="float16")
    found = find_task(operation("softmax", half, x=half, axis=-1), LIBRARY, CPU)
    assert isinstance(found, FoundTask)
    assert found.dtype == "float16"


def test_operations_count_bytes_and_products() -> None:
    linear = operation("linear", array(4, 6), x=array(4, 8), w=array(6, 8), bias=array(6))
    assert linear.product_flops == 2 * 4 * 6 * 8
    assert linear.nbytes == 4 * (4 * 8 + 6 * 8 + 6 + 4 * 6)
    assert operation("relu", X, x=X).product_flops == 0
    assert linear.shapes == "(4, 8), (6, 8), (6) -> (4, 6)"
