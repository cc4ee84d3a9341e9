"""The exact results of MLX's functions: NumPy's float64 of the graph that MLX traces."""

from __future__ import annotations

import mlx.core as mx
import numpy as np
import pytest
import scipy.special

from metalbench.errors import DeclarationError, TaskError
from metalbench.reference.mlx_function import MlxFunction, trace

X = np.random.default_rng(1).normal(size=(4, 8)).astype(np.float32)
W = np.random.default_rng(2).normal(size=8).astype(np.float32)
PICKED = mx.array([[0, 2], [1, 1]])


def updated(x, w):
    y = x * 1
    y[1:3] = w
    return y.at[mx.array([0, 0, 3])].add(w)


def convolved(x, w):
    kernel = mx.arange(6 * 2 * 3 * 4).reshape(6, 2, 3, 4).astype(mx.float32) * 0.01
    images = x.reshape(1, 2, 2, 8)
    return mx.conv2d(images, kernel, stride=(2, 1), padding=(1, 2), groups=2)


def transposed_convolution(x, w):
    kernel = mx.arange(5 * 3 * 8).reshape(5, 3, 8).astype(mx.float32) * 0.1
    return mx.conv_transpose1d(x[None], kernel, stride=2, padding=1)


def attention(x, w):
    heads = x[None, None]
    return mx.fast.scaled_dot_product_attention(heads, heads, heads, scale=0.5, mask="causal")


def rotated(x, w):
    return mx.fast.rope(x[None], 8, traditional=False, base=100.0, scale=1.0, offset=1)


FUNCTIONS = {
    "activations": lambda x, w: [mx.maximum(x, 0), x * mx.sigmoid(x), mx.clip(x, -1, 1)],
    "special": lambda x, w: [mx.erf(x), mx.erfinv(x / 9), mx.expm1(x), mx.log1p(mx.abs(x))],
    "logarithms": lambda x, w: [f(mx.abs(x)) for f in (mx.log, mx.log2, mx.log10, mx.sqrt)],
    "angles": lambda x, w: [mx.sin(x), mx.cos(x), mx.tanh(x), mx.arctan2(x, w), mx.arcsinh(x)],
    "arithmetic": lambda x, w: [x / w, x % 2.0, x // 2.0, mx.abs(x) ** 2.5, mx.rsqrt(w * w + 1)],
    "pairs": lambda x, w: [*mx.divmod(x, w), mx.logaddexp(x, w), mx.minimum(x, w)],
    "rounding": lambda x, w: [mx.floor(x), mx.ceil(x), mx.round(x), mx.sign(x)],
    "choices": lambda x, w: [mx.where((x > 0) & (x < 1), x, w), mx.isnan(x), mx.nan_to_num(x)],
    "integers": lambda x, w: [(x > 0).astype(mx.uint32) << 2, (x * 9).astype(mx.int32) & 3],
    "reductions": lambda x, w: [x.sum(), x.max(axis=1), mx.var(x, axis=0), mx.prod(x, axis=1)],
    "logical": lambda x, w: [(x > 0).all(axis=1), (x > 0).any()],
    "softmax": lambda x, w: [
        mx.softmax(x, axis=-1),
        mx.softmax(x, axis=0),
        mx.logsumexp(x, axis=1),
    ],
    "norms": lambda x, w: [mx.fast.rms_norm(x, w, 1e-5), mx.fast.layer_norm(x, w, w, 1e-5)],
    "order": lambda x, w: [mx.sort(x, axis=0), mx.argsort(x), mx.argmax(x, axis=1), mx.topk(x, 2)],
    "scans": lambda x, w: [
        mx.cumsum(x, axis=0, reverse=True, inclusive=False),
        mx.cummax(x, axis=1),
        mx.cumprod(x, axis=1),
    ],
    "products": lambda x, w: [
        x @ x.T,
        mx.addmm(w[:4], x, x.T, 0.5, 2.0),
        mx.einsum("ij,kj->k", x, x),
    ],
    "shapes": lambda x, w: [x.reshape(-1, 2, 4), x.flatten(), mx.unflatten(x, 1, (2, 4)), x.T],
    "slices": lambda x, w: [x[1:3, ::2], x[::-1], x[:, ::-1], mx.split(x, 2, axis=1)[1]],
    "joined": lambda x, w: [mx.concatenate([x, x], axis=1), mx.stack([x, x]), mx.tile(x, (2, 1))],
    "padded": lambda x, w: [
        mx.pad(x, ((1, 2), (0, 1)), constant_values=3.0),
        mx.pad(x, 1, mode="edge"),
        mx.roll(x, 1, axis=1),
    ],
    "indices": lambda x, w: [x[PICKED], x[:, mx.array([0, -2])], mx.take(x, PICKED, axis=1)],
    "along": lambda x, w: [mx.take_along_axis(x, mx.argsort(x, axis=1), axis=1), mx.diagonal(x)],
    "updates": updated,
    "masks": lambda x, w: [mx.tril(x), mx.triu(x, 1), x @ mx.eye(8), mx.diag(w)],
    "made": lambda x, w: [x + mx.arange(8), x + mx.linspace(0, 1, 8), mx.zeros_like(x)],
    "convolution": convolved,
    "transposed convolution": transposed_convolution,
    "attention": attention,
    "rope": rotated,
    "gradient": lambda x, w: mx.grad(lambda each: (each * mx.exp(each)).sum())(x),
    "compiled": mx.compile(lambda x, w: mx.exp(x) * w + 1),
}


def flat(results):
    several = results if isinstance(results, (tuple, list)) else [results]
    return [np.array(each) for each in several]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_evaluate_agrees_with_mlx_in_float32(name: str) -> None:
    function = FUNCTIONS[name]
    graph = trace(function, [mx.array(X), mx.array(W)])
    results = graph.evaluate([X, W])
    expected = flat(function(mx.array(X), mx.array(W)))
    assert len(results) == len(expected)
    for got, wanted in zip(results, expected, strict=True):
        assert got.shape == wanted.shape
        if wanted.dtype.kind == "f":
            assert got.dtype == np.float64
            np.testing.assert_allclose(got, wanted, rtol=2e-5, atol=2e-5)
        else:
            assert got.dtype == wanted.dtype
            np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize(
    ("function", "exact"),
    [
        (mx.exp, np.exp),
        (mx.erf, scipy.special.erf),
        (mx.sin, np.sin),
        (mx.sigmoid, scipy.special.expit),
        (lambda x: mx.softmax(x, axis=-1), lambda x: scipy.special.softmax(x, axis=-1)),
    ],
)
def test_evaluate_has_the_precision_of_float64(function, exact) -> None:
    x = np.random.default_rng(0).normal(size=(8, 64))
    (got,) = trace(function, [mx.zeros((8, 64))]).evaluate([x])
    np.testing.assert_allclose(got, exact(x), rtol=1e-14)


def test_evaluate_ignores_conversions_to_narrow_floats() -> None:
    graph = trace(lambda x: x.astype(mx.float16).astype(mx.float32), [mx.zeros(8)])
    x = np.full(8, 1 / 3)
    np.testing.assert_array_equal(graph.evaluate([x])[0], x)


@pytest.mark.parametrize(
    ("function", "flops"),
    [
        (lambda x, w: x.T, 0),
        (lambda x, w: mx.maximum(x, 0), 32),
        (lambda x, w: x @ x.T, 2 * 4 * 4 * 8),
        (lambda x, w: x.sum(), 32),
        (lambda x, w: (x * w).astype(mx.float16), 32),
    ],
)
def test_flops_count_arithmetic_only(function, flops: int) -> None:
    assert trace(function, [mx.array(X), mx.array(W)]).flops() == flops


def branches(x):
    return x if x.sum() > 0 else -x


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (branches, r"its flow depends on the values of arrays; expected mx\.where"),
        (lambda x: x + mx.random.normal(x.shape), "it draws random numbers; take them as an arg"),
        (lambda x: None, "expected an array or a tuple of arrays"),
        (lambda x: x @ mx.zeros((3, 3)), "ValueError"),
    ],
)
def test_trace_refuses_what_is_no_function_of_arrays(function, message: str) -> None:
    with pytest.raises(DeclarationError, match=message):
        trace(function, [mx.zeros((4, 4))])


def test_evaluate_names_a_primitive_without_a_float64_form() -> None:
    graph = trace(mx.hadamard_transform, [mx.zeros((4, 8))])
    with pytest.raises(TaskError, match="MLX's Hadamard has no float64 form here; expected one of"):
        graph.evaluate([X])


def test_evaluate_refuses_indices_outside_of_an_array() -> None:
    graph = trace(lambda x, at: x[at], [mx.zeros((4, 8)), mx.zeros(2, mx.int32)])
    with pytest.raises(TaskError, match="an index of 4 is outside of 4 elements"):
        graph.evaluate([X, np.array([0, 4], np.int32)])


def test_mlx_function_names_its_file_and_function(tmp_path) -> None:
    file = tmp_path / "ops.py"
    file.write_text("import mlx.core as mx\n\ndef double(x):\n    return x + x\n", "utf-8")
    function = MlxFunction.next_to(str(tmp_path / "task.py"), "ops.py", "double")
    np.testing.assert_array_equal(np.array(function(mx.array(X))), 2 * X)
    np.testing.assert_array_equal(function.exact(X), 2 * X.astype(np.float64))
    with pytest.raises(TaskError, match=r"ops\.py: no function 'duble'; did you mean 'double'"):
        MlxFunction(file, "duble")(mx.array(X))
    with pytest.raises(TaskError, match=r"none\.py: expected a Python file"):
        MlxFunction(tmp_path / "none.py", "double")(mx.array(X))
