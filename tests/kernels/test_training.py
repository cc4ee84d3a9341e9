"""The family `training`: gradients by finite differences, and steps by MLX's optimiser."""

from __future__ import annotations

from collections.abc import Callable

import mlx.core as mx
import numpy as np
import pytest
from kernel_outputs import compute
from mlx.optimizers import AdamW, Lion, Muon
from scipy.special import log_softmax

from metalbench.task.attention import attend
from metalbench.task.oracles import convolve

Arrays = dict[str, np.ndarray]


def along(function: Callable[[np.ndarray], float], at: np.ndarray, direction: np.ndarray) -> float:
    """Return the derivative of `function` along `direction`, by a central difference."""
    h = 1e-5
    return (function(at + h * direction) - function(at - h * direction)) / (2 * h)


def widen(arrays: Arrays) -> Arrays:
    """Return the floating arrays in float64."""
    return {
        name: each.astype(np.float64) if each.dtype.kind == "f" else each
        for name, each in arrays.items()
    }


def test_steps_of_adamw_are_those_of_mlx_optimizers() -> None:
    rate, betas, eps, decay = 0.02, (0.8, 0.99), 1e-6, 0.3
    optimizer = AdamW(rate, [*betas], eps, decay, bias_correction=True)
    random = np.random.Generator(np.random.Philox(3))
    shape = (37, 1023)
    state = {
        "parameter": random.standard_normal(shape, np.float32),
        "mean": np.zeros(shape, np.float32),
        "square": np.zeros(shape, np.float32),
    }
    parameter = {"x": mx.array(state["parameter"])}
    for step in range(1, 6):
        gradient = random.standard_normal(shape, np.float32)
        parameter = optimizer.apply_gradients({"x": mx.array(gradient)}, parameter)
        constants = {
            "rate": rate / (1 - betas[0] ** step),
            "root": (1 - betas[1] ** step) ** -0.5,
            "kept": 1 - rate * decay,
            "mean_share": 1 - betas[0],
            "square_share": 1 - betas[1],
            "eps": eps,
        }
        _, found = compute("adamw_step", constants=constants, gradient=gradient, **state)
        state = {name: found[f"new_{name}"] for name in state}
    np.testing.assert_allclose(state["parameter"], parameter["x"], rtol=2e-5, atol=1e-5)
    np.testing.assert_allclose(state["square"], optimizer.state["x"]["v"], rtol=1e-5)


def test_the_gradients_of_swiglu_are_finite_differences() -> None:
    given, found = compute("swiglu_gradient")
    dy, gate, up = (given[name].astype(np.float64) for name in ("dy", "gate", "up"))

    def gated(gate: np.ndarray, up: np.ndarray) -> np.ndarray:
        return gate / (1 + np.exp(-gate)) * up

    h = 1e-5
    of_gate = dy * (gated(gate + h, up) - gated(gate - h, up)) / (2 * h)
    of_up = dy * (gated(gate, up + h) - gated(gate, up - h)) / (2 * h)
    np.testing.assert_allclose(found["dgate"], of_gate, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found["dup"], of_up, rtol=1e-4, atol=1e-5)


def test_the_gradient_of_the_cross_entropy_is_a_finite_difference() -> None:
    size = "rows=4,cols=37"
    given, found = compute("cross_entropy_gradient", size)
    logits, dloss = given["logits"].astype(np.float64), given["dloss"].astype(np.float64)
    rows, target = np.arange(4), given["target"].astype(np.int64)
    h, expected = 1e-5, np.zeros(logits.shape)
    for column in range(logits.shape[1]):
        losses = []
        for sign in (1, -1):
            moved = logits.copy()
            moved[:, column] += sign * h
            losses.append(-log_softmax(moved, axis=1)[rows, target])
        expected[:, column] = dloss * (losses[0] - losses[1]) / (2 * h)
    np.testing.assert_allclose(found["dlogits"], expected, atol=1e-6)
    np.testing.assert_allclose(found["dlogits"].sum(axis=1), 0, atol=1e-5)


def test_steps_of_lion_are_those_of_mlx_optimizers() -> None:
    rate, betas, decay = 0.02, (0.875, 0.96875), 0.3
    optimizer = Lion(rate, [*betas], decay)
    random = np.random.Generator(np.random.Philox(4))
    shape = (37, 1023)
    state = {
        "parameter": random.standard_normal(shape, np.float32),
        "momentum": np.zeros(shape, np.float32),
    }
    parameter = {"x": mx.array(state["parameter"])}
    constants = {
        "rate": rate,
        "kept": 1 - rate * decay,
        "direction_share": 1 - betas[0],
        "momentum_share": 1 - betas[1],
    }
    for _ in range(5):
        gradient = random.standard_normal(shape, np.float32)
        parameter = optimizer.apply_gradients({"x": mx.array(gradient)}, parameter)
        _, found = compute("lion_step", constants=constants, gradient=gradient, **state)
        state = {name: found[f"new_{name}"] for name in state}
    # The sign of a direction of about zero may be either.
    apart = np.abs(state["parameter"] - np.array(parameter["x"])) > 1e-5
    assert apart.mean() < 1e-4
    np.testing.assert_allclose(state["momentum"], optimizer.state["x"]["m"], atol=1e-6)


@pytest.mark.parametrize("size", ["odd1", "odd2"])
def test_steps_of_muon_are_those_of_mlx_optimizers(size: str) -> None:
    rate, momentum, decay = 0.05, 0.9, 0.02
    optimizer = Muon(rate, momentum, decay)
    given, _ = compute("muon_step", size)
    random = np.random.Generator(np.random.Philox(5))
    shape = given["parameter"].shape
    state = {"parameter": given["parameter"], "velocity": np.zeros(shape, np.float32)}
    parameter = {"x": mx.array(state["parameter"])}
    constants = {"rate": rate, "momentum": momentum, "decay": decay}
    for _ in range(3):
        gradient = random.standard_normal(shape, np.float32)
        parameter = optimizer.apply_gradients({"x": mx.array(gradient)}, parameter)
        _, found = compute("muon_step", size, constants=constants, gradient=gradient, **state)
        moved = state["parameter"] - found["new_parameter"]
        # The coefficients lead singular values into this band, and keep them there.
        step = rate * max(1, shape[0] / shape[1]) ** 0.5
        values = np.linalg.svd(moved.astype(np.float64) / step, compute_uv=False)
        assert values.min() > 0.5
        assert values.max() < 1.25
        state = {name: found[f"new_{name}"] for name in state}
    np.testing.assert_allclose(state["parameter"], parameter["x"], atol=2e-4)
    np.testing.assert_allclose(state["velocity"], optimizer.state["x"]["v"], atol=1e-6)


@pytest.mark.parametrize("kind", ["causal", "bidirectional"])
def test_gradients_of_attention_are_finite_differences(kind: str) -> None:
    """The forward kernel's results are the inputs of the gradient's."""
    size = "heads=4,kv_heads=2,tokens=21,dims=40"
    given, forward = compute(f"sdpa_{kind}_lse", size)
    random = np.random.Generator(np.random.Philox(6))
    dy = random.standard_normal(given["q"].shape, np.float32)
    _, found = compute(f"sdpa_{kind}_gradient", size, dy=dy, **given, **forward)
    seen = np.tri(21) > 0 if kind == "causal" else None
    wide = widen(given)
    for name in wide:
        direction = random.standard_normal(wide[name].shape)

        def loss(moved: np.ndarray, name: str = name) -> float:
            return float((dy * attend(**{**wide, name: moved}, seen=seen)).sum())

        expected = along(loss, wide[name], direction)
        np.testing.assert_allclose((found[f"d{name}"] * direction).sum(), expected, rtol=1e-4)


@pytest.mark.parametrize("kind", ["causal", "bidirectional"])
def test_gradients_of_attention_are_those_of_mlx(kind: str) -> None:
    size = "heads=6,kv_heads=2,tokens=67,dims=128"
    given, forward = compute(f"sdpa_{kind}_lse", size)
    random = np.random.Generator(np.random.Philox(7))
    dy = random.standard_normal(given["q"].shape, np.float32)
    _, found = compute(f"sdpa_{kind}_gradient", size, dy=dy, **given, **forward)

    def attention(*heads: mx.array) -> mx.array:
        mask = "causal" if kind == "causal" else None
        several = (each[None] for each in heads)
        return mx.fast.scaled_dot_product_attention(*several, scale=128**-0.5, mask=mask)[0]

    arrays = [mx.array(given[each]) for each in "qkv"]
    for name, expected in zip("qkv", mx.vjp(attention, arrays, [mx.array(dy)])[1], strict=True):
        np.testing.assert_allclose(found[f"d{name}"], expected, atol=1e-5)


def test_gradients_of_rope_are_the_transpose_of_rope() -> None:
    constants = {"offset": 5}
    given, found = compute("rope_half", constants=constants)
    dy, back = compute("rope_half_gradient", constants=constants)
    forward = (widen(found)["y"] * widen(dy)["dy"]).sum()
    backward = (widen(given)["x"] * widen(back)["dx"]).sum()
    np.testing.assert_allclose(forward, backward, rtol=1e-5)


def test_gradients_of_convolutions_are_the_transposes_of_convolutions() -> None:
    """A convolution is linear in the input and in the filters."""
    random = np.random.Generator(np.random.Philox(8))
    size = "batch=2,height=7,width=9,channels=6,filters=5"
    given, found = compute("conv2d_input_gradient", size)
    x = random.standard_normal(found["dx"].shape)
    forward = convolve(x, widen(given)["w"])
    np.testing.assert_allclose((forward * given["dy"]).sum(), (x * found["dx"]).sum(), rtol=1e-5)
    given, found = compute("conv2d_weight_gradient", size)
    w = random.standard_normal(found["dw"].shape)
    forward = convolve(widen(given)["x"], w)
    np.testing.assert_allclose((forward * given["dy"]).sum(), (w * found["dw"]).sum(), rtol=1e-5)


@pytest.mark.parametrize(
    ("taps", "stride", "padding", "more"),
    [(3, 1, 1, 0), (3, 2, 1, 0), (7, 2, 3, 1), (1, 2, 0, 1), (2, 3, 0, 2), (5, 4, 3, 3)],
)
def test_gradients_of_convolutions_with_steps_are_mlxs(
    taps: int, stride: int, padding: int, more: int
) -> None:
    size = f"batch=2,height=5,width=4,channels=6,filters=5,taps={taps}"
    constants = {"stride": stride, "padding": padding, "more": more}
    given, found = compute("conv2d_strided_weight_gradient", size, constants=constants)
    filters, spread = compute(
        "conv2d_strided_input_gradient", size, constants=constants, dy=given["dy"]
    )
    arrays = [mx.array(given["x"]), mx.array(filters["w"])]
    dx, dw = mx.vjp(lambda x, w: mx.conv2d(x, w, stride, padding), arrays, [mx.array(given["dy"])])[
        1
    ]
    np.testing.assert_allclose(spread["dx"], dx, atol=1e-4)
    np.testing.assert_allclose(found["dw"], dw, atol=1e-4)


def test_the_gradient_of_an_embedding_is_a_product_with_the_tokens() -> None:
    size = "tokens=1029,dims=130"
    for token in (None, np.full(1029, 996, np.uint32), np.arange(1029, dtype=np.uint32) % 997):
        changed = {} if token is None else {"token": token}
        given, found = compute("embedding_gradient", size, **changed)
        one_hot = given["token"][:, None] == np.arange(997)
        expected = one_hot.T.astype(np.float64) @ given["dy"]
        np.testing.assert_allclose(found["dtable"], expected, atol=1e-4)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_the_linear_cross_entropy_is_that_of_its_logits(dtype: str) -> None:
    given, found = compute("linear_cross_entropy", dtype=dtype)
    wide = widen(given)
    logits = wide["hidden"] @ wide["w"].T
    chosen = np.arange(len(logits)), given["target"].astype(np.int64)
    np.testing.assert_allclose(found["loss"], -log_softmax(logits, axis=1)[chosen], atol=1e-5)


def test_gradients_of_the_linear_cross_entropy_are_finite_differences() -> None:
    size = "rows=37,dims=33,vocabulary=1100"  # more than a chunk
    given, forward = compute("linear_cross_entropy", size)
    random = np.random.Generator(np.random.Philox(9))
    dloss = random.standard_normal(37, np.float32)
    _, found = compute(
        "linear_cross_entropy_gradient", size, dloss=dloss, lse=forward["lse"], **given
    )
    wide = widen(given)
    chosen = np.arange(37), given["target"].astype(np.int64)
    for name in ("hidden", "w"):
        direction = random.standard_normal(wide[name].shape)

        def loss(moved: np.ndarray, name: str = name) -> float:
            at = {**wide, name: moved}
            return float(-(dloss * log_softmax(at["hidden"] @ at["w"].T, axis=1)[chosen]).sum())

        expected = along(loss, wide[name], direction)
        np.testing.assert_allclose((found[f"d{name}"] * direction).sum(), expected, rtol=1e-4)
