"""Kernels of the library as functions of MLX arrays: results and gradients are MLX's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import mlx.core as mx
import numpy as np
import pytest
from mlx import nn
from mlx.utils import tree_flatten, tree_map

from benchmarks import training
from metalbench.errors import DispatchError, Unsupported
from metalbench.mlx import functions
from metalbench.mlx.functions import PAIRS, KernelFunction

TOLERANCES = {"float32": 1e-5, "float16": 1e-2, "bfloat16": 0.1}


@pytest.fixture(autouse=True)
def on_the_processor():
    with mx.stream(mx.cpu):
        yield


@dataclass(frozen=True)
class Case:
    """A function of the library, MLX's own, the shapes of floating inputs, and its classes."""

    ours: Callable
    of_mlx: Callable
    shapes: Sequence[tuple[int, ...]]
    classes: int = 0


def attend_by_mlx(mask: str | None) -> Callable:
    def attend(q, k, v):
        return mx.fast.scaled_dot_product_attention(q, k, v, scale=24**-0.5, mask=mask)

    return attend


def rope_by_mlx(x):
    return mx.fast.rope(x, 24, traditional=False, base=10000.0, scale=1.0, offset=3)


HEADS = [(2, 4, 19, 24), (2, 2, 19, 24), (2, 2, 19, 24)]
CASES = {
    "attention": Case(functions.attention, attend_by_mlx(None), HEADS),
    "causal_attention": Case(
        lambda q, k, v: functions.attention(q, k, v, causal=True), attend_by_mlx("causal"), HEADS
    ),
    "rms_norm": Case(
        functions.rms_norm, lambda x, w: mx.fast.rms_norm(x, w, 1e-5), [(3, 7, 50), (50,)]
    ),
    "layer_norm": Case(
        functions.layer_norm,
        lambda x, w, b: mx.fast.layer_norm(x, w, b, 1e-5),
        [(3, 7, 50), (50,), (50,)],
    ),
    "swiglu": Case(functions.swiglu, lambda gate, up: nn.silu(gate) * up, [(3, 7, 50), (3, 7, 50)]),
    "cross_entropy": Case(functions.cross_entropy, nn.losses.cross_entropy, [(3, 7, 50)], 50),
    "linear_cross_entropy": Case(
        functions.linear_cross_entropy,
        lambda h, w, t: nn.losses.cross_entropy(h @ w.T, t),
        [(3, 7, 20), (50, 20)],
        50,
    ),
    "rope": Case(lambda x: functions.rope(x, offset=3), rope_by_mlx, [(2, 3, 9, 24)]),
    "embedding": Case(
        lambda table, token: functions.embedding(token, table),
        lambda table, token: table[token],
        [(50, 20)],
        50,
    ),
    "conv2d": Case(functions.conv2d, mx.conv2d, [(2, 8, 9, 5), (6, 3, 3, 5)]),
}


def draw_inputs(case: Case, dtype: str) -> list[mx.array]:
    mx.random.seed(1)
    arrays = [mx.random.normal(shape).astype(getattr(mx, dtype)) for shape in case.shapes]
    return arrays + ([mx.random.randint(0, case.classes, (3, 7))] if case.classes else [])


def find_gradients(function: Callable, inputs: Sequence[mx.array], floating: int) -> list:
    """Return the result, and the gradients of a random sum of it."""

    def weigh(*arrays: mx.array) -> mx.array:
        result = function(*arrays)
        weights = mx.random.normal(result.shape, key=mx.random.key(2))
        return (result.astype(mx.float32) * weights).sum()

    gradients = mx.grad(weigh, argnums=list(range(floating)))(*inputs)
    return [function(*inputs), *(gradients if isinstance(gradients, tuple) else [gradients])]


def test_there_is_a_case_for_each_pair() -> None:
    assert CASES.keys() == PAIRS.keys()


@pytest.mark.parametrize(
    "dtype",
    [
        pytest.param(each, marks=() if each == "float32" else pytest.mark.slow)
        for each in TOLERANCES
    ],
)
@pytest.mark.parametrize("name", CASES)
def test_results_and_gradients_are_those_of_mlx(name: str, dtype: str) -> None:
    case = CASES[name]
    inputs = draw_inputs(case, dtype)
    found = find_gradients(case.ours, inputs, len(case.shapes))
    # MLX's processor adds up in the element type: compare with its results in float32.
    wide = [each.astype(mx.float32) if each.dtype != mx.int32 else each for each in inputs]
    expected = find_gradients(case.of_mlx, wide, len(case.shapes))
    for ours, mlx in zip(found, expected, strict=True):
        assert ours.shape == mlx.shape
        # The loss of `linear_cross_entropy` is float32 in each type.
        assert ours.dtype in (inputs[0].dtype, mx.float32)
        largest = float(mx.abs(mlx).max())
        np.testing.assert_allclose(
            np.array(ours.astype(mx.float32)), mlx, atol=TOLERANCES[dtype] * largest
        )


def test_an_optimiser_step_is_a_function() -> None:
    step = KernelFunction("lion_step")
    parameter, gradient = mx.ones((3, 5)), mx.full((3, 5), -2.0)
    moved, momentum = step(parameter, gradient, mx.zeros((3, 5)), rate=0.5, kept=1.0)
    np.testing.assert_allclose(moved, 1.5)
    np.testing.assert_allclose(momentum, -0.02, rtol=1e-5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda x: functions.rms_norm(x, mx.ones(7)),
            r"\[rms_norm_weight\] weight: expected \(8,\), got \(7,\)",
        ),
        (
            lambda x: functions.rms_norm(x, mx.ones(8, mx.float16)),
            r"weight: expected mlx.core.float32, as the first floating input has, got",
        ),
        (
            lambda x: functions.swiglu(x.astype(mx.int32), x),
            r"\[silu_gate\] a: expected one of float32, float16, bfloat16, got int32",
        ),
        (
            lambda x: functions.attention(x, x, x),
            r"\[attention\] q: expected \(batch, heads, tokens, dims\), got \(4, 8\)",
        ),
        (
            lambda x: functions.attention(x[None, None], mx.ones((2, 1, 4, 8)), x[None, None]),
            r"\[attention\] k: expected \(1, 1, 4, 8\), got \(2, 1, 4, 8\)",
        ),
        (
            lambda x: functions.swiglu(x, x.T),
            r"\[swiglu\] up: expected \(4, 8\), got \(8, 4\)",
        ),
        (
            lambda x: functions.cross_entropy(x, mx.array([1, 2])),
            r"\[cross_entropy\] target: expected \(4,\), got \(2,\)",
        ),
        (
            lambda x: KernelFunction("relu")(x, x),
            r"\[relu\] expected the arrays \(x\), got 2 arrays",
        ),
        (lambda x: KernelFunction("relu")(x, slope=1.0), r"\[relu\] no constant 'slope'"),
        (lambda x: functions.rope(x[:, :6]), r"\[rope\] x: expected .* a multiple of 4"),
        (
            lambda x: KernelFunction("silu_gate")(x, x[0]),
            r"\[silu_gate\] b: expected the dimensions \(rows, cols\), got \(8,\)",
        ),
    ],
)
def test_wrong_inputs_are_refused(call: Callable, message: str) -> None:
    with pytest.raises(DispatchError, match=message):
        call(mx.ones((4, 8)))


def test_limits_of_a_kernel_are_checked() -> None:
    x = mx.zeros((1, 2, 16, 160))
    with pytest.raises(ValueError, match=r"dims: expected dims <= 128, got dims = 160"):
        functions.attention(x, x, x)


def test_gradients_of_gradients_raise() -> None:
    x, weight = mx.ones((4, 8)), mx.ones(8)

    def slope(x: mx.array) -> mx.array:
        return mx.grad(lambda x: functions.rms_norm(x, weight).sum())(x).sum()

    with pytest.raises(Unsupported, match="a kernel has no gradient"):
        mx.grad(slope)(x)


def test_on_a_mac_tunables_have_their_values_for_apple(monkeypatch) -> None:
    """Here the engine runs that build, too."""
    monkeypatch.setattr(functions, "metal_is_available", lambda: True)
    functions._build.cache_clear()
    try:
        x = mx.random.normal((5, 1000))
        expected = mx.fast.rms_norm(x, mx.ones(1000), 1e-5)
        np.testing.assert_allclose(functions.rms_norm(x, mx.ones(1000)), expected, atol=1e-5)
        # Fewer elements than MLX passes as `device` memory.
        small = mx.array([[3.0, 4.0]])
        np.testing.assert_allclose(
            functions.swiglu(small, small), nn.silu(small) * small, rtol=1e-5
        )
    finally:
        functions._build.cache_clear()


# A transformer block that trains.

SIZE = training.ModelSize()


def find_loss_and_gradients(operations: object) -> tuple[float, dict]:
    parameters = training.create_parameters(SIZE, 3)
    (batch,) = training.draw_batches(SIZE, 4, 1)
    loss, gradients = mx.value_and_grad(training.compute_loss)(parameters, batch, SIZE, operations)
    return float(loss), gradients


def test_gradients_of_a_transformer_are_those_of_mlx() -> None:
    loss, gradients = find_loss_and_gradients(functions)
    expected, by_mlx = find_loss_and_gradients(training.MLX_OPERATIONS)
    np.testing.assert_allclose(loss, expected, rtol=1e-6)
    pairs = zip(tree_flatten(gradients), tree_flatten(by_mlx), strict=True)
    for (name, ours), (_, mlx) in pairs:
        np.testing.assert_allclose(ours, mlx, atol=1e-6, err_msg=name)


def test_gradients_of_a_transformer_are_finite_differences() -> None:
    """Along the gradient itself, where the slope is its length."""
    _, gradients = find_loss_and_gradients(functions)
    length = float(mx.sqrt(sum(each.square().sum() for _, each in tree_flatten(gradients))))
    (batch,) = training.draw_batches(SIZE, 4, 1)

    def find_loss(step: float) -> float:
        parameters = tree_map(
            lambda at, gradient: at + step / length * gradient,
            training.create_parameters(SIZE, 3),
            gradients,
        )
        return float(training.compute_loss(parameters, batch, SIZE, functions))

    np.testing.assert_allclose((find_loss(0.02) - find_loss(-0.02)) / 0.04, length, rtol=2e-3)


def test_training_begins_as_that_of_mlx() -> None:
    curves = [
        training.train(SIZE, operations, seed=0, steps=3)
        for operations in (functions, training.MLX_OPERATIONS)
    ]
    np.testing.assert_allclose(*curves, rtol=1e-5)


@pytest.mark.slow
def test_training_reaches_the_loss_of_mlx() -> None:
    """Rounding differs, and training magnifies differences: 4e-6 were seen."""
    ours, by_mlx = (
        training.train(SIZE, operations, seed=0, steps=200)
        for operations in (functions, training.MLX_OPERATIONS)
    )
    assert np.mean(by_mlx[-20:]) < 0.05 * by_mlx[0]
    np.testing.assert_allclose(ours, by_mlx, atol=1e-3)
