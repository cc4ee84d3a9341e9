"""The family `training`: gradients by finite differences, and steps by MLX's optimiser."""

from __future__ import annotations

import mlx.core as mx
import numpy as np
from kernel_outputs import compute
from mlx.optimizers import AdamW
from scipy.special import log_softmax


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
