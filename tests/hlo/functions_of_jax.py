"""Run functions of JAX by name, and compare the results with those of XLA."""

from __future__ import annotations

import sys

import jax
import jax.numpy as jnp
import numpy as np

from metalbench import hlo

X = np.random.default_rng(0).standard_normal((4, 8)).astype(np.float32)
W = np.random.default_rng(1).standard_normal((8, 3)).astype(np.float32)


def a_gradient_in_a_tree_is_xlas():
    def loss(weights, x):
        return jnp.sum(jnp.tanh(x @ weights["w"]) ** 2)

    step = jax.value_and_grad(loss)
    found = hlo.compile(step, device="cpu")({"w": W}, X)
    expected = step({"w": W}, X)
    assert isinstance(found[1]["w"], jax.Array)
    jax.tree.map(
        lambda got, want: np.testing.assert_allclose(got, want, atol=1e-6), found, expected
    )


def random_numbers_and_indices_are_xlas():
    def draw(seed):
        numbers = jax.random.normal(jax.random.key(seed), (6,))
        order = jnp.argsort(numbers)
        return numbers, order, jnp.cumsum(numbers).at[order[:2]].add(1.0)

    found, expected = hlo.compile(draw, device="cpu")(3), draw(3)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-6)
    np.testing.assert_array_equal(found[1], expected[1])
    np.testing.assert_allclose(found[2], expected[2], rtol=1e-5)


def a_lowered_function_is_a_program():
    lowered = jax.jit(lambda x: jnp.max(x, axis=1)).lower(X)
    (found,) = hlo.compile(lowered, device="cpu")(X)
    assert isinstance(found, np.ndarray)
    np.testing.assert_array_equal(found, X.max(1))


def linear_algebra_is_xlas():
    matrix = X @ X.T + 8 * np.eye(4, dtype=np.float32)
    for function in (
        lambda a: jnp.linalg.solve(a, a[0]),
        lambda a: jnp.linalg.eigh(a)[0],
        lambda a: jnp.abs(jnp.linalg.qr(a)[1]),
        jnp.linalg.cholesky,
        jnp.linalg.det,
    ):
        found = hlo.compile(function, device="cpu")(matrix)
        np.testing.assert_allclose(found, function(matrix), rtol=1e-4, atol=1e-4)


def callbacks_run_in_compiled_functions():
    seen = []

    def call(x):
        jax.debug.callback(lambda x: seen.append(float(x)), x.sum())
        return jax.pure_callback(np.cumsum, jax.ShapeDtypeStruct(x.shape, x.dtype), x) + 1

    compiled = hlo.compile(call, device="cpu")
    for _ in range(2):
        np.testing.assert_allclose(compiled(X[0]), np.cumsum(X[0]) + 1, rtol=1e-6)
    np.testing.assert_allclose(seen, [X[0].sum()] * 2, rtol=1e-5)
    # The rules of the platform do not change other programs.
    np.testing.assert_allclose(jax.jit(call)(X[0]), np.cumsum(X[0]) + 1, rtol=1e-6)
    assert {each.platform for each in jax.devices()} == {"cpu"}


if __name__ == "__main__":
    globals()[sys.argv[1]]()
