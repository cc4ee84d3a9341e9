"""Run rematerialised programs of JAX by name through the plugin; compare with XLA:CPU.

`jax.checkpoint` puts one optimization barrier around all residuals, whose shapes differ. Print a
line of JSON for each function: its name, and the failure or null.
"""

from __future__ import annotations

import json
import sys

import jax
import jax.numpy as jnp
import numpy as np
from functions_of_plugin import CPU, check, outcome
from jax import lax

RANDOM = np.random.default_rng(0)
X = RANDOM.standard_normal((3, 4)).astype(np.float32)
W = RANDOM.standard_normal((4, 60)).astype(np.float32)
B = RANDOM.standard_normal(60).astype(np.float32)


def layer(x, w):
    return jnp.sin(jnp.sin(x @ w) @ w.T)


def loss(x, w):
    return layer(x, w).sum()


def residuals_of_two_shapes():
    check(jax.grad(jax.checkpoint(loss), (0, 1)), X, W)


def with_a_vector_and_a_scalar():
    def f(x, w, b, s):
        return (jnp.tanh(x @ w + b) * s).sum()

    check(jax.grad(jax.checkpoint(f), (0, 1, 2, 3)), X, W, B, np.float32(0.5))


def with_nested_checkpoints():
    inner = jax.checkpoint(layer)
    check(
        jax.grad(jax.checkpoint(lambda x, w: inner(inner(x, w), w).sum()), (0, 1)),
        X,
        W / 8,
        tolerance=1e-5,
    )


def without_cse_prevention():
    check(jax.grad(jax.checkpoint(loss, prevent_cse=False), (0, 1)), X, W)


def with_the_policy_that_saves_products():
    policy = jax.checkpoint_policies.dots_saveable
    check(jax.grad(jax.checkpoint(loss, policy=policy), (0, 1)), X, W)


def with_the_policy_that_saves_nothing():
    policy = jax.checkpoint_policies.nothing_saveable
    check(jax.grad(jax.checkpoint(loss, policy=policy), (0, 1)), X, W)


def with_a_policy_of_names():
    from jax.ad_checkpoint import checkpoint_name

    def f(x, w):
        return jnp.sin(checkpoint_name(jnp.sin(x @ w), "hidden") @ w.T).sum()

    policy = jax.checkpoint_policies.save_only_these_names("hidden")
    check(jax.grad(jax.checkpoint(f, policy=policy), (0, 1)), X, W)


def in_a_scan_over_layers():
    weights = RANDOM.standard_normal((5, 4, 7)).astype(np.float32) / 2

    def f(x, weights):
        step = jax.checkpoint(lambda c, w: (layer(c, w), c.sum()))
        return sum(each.sum() for each in lax.scan(step, x, weights))

    check(jax.grad(f, (0, 1)), X, weights, tolerance=1e-4)


def in_a_conditional():
    def f(p, x, w):
        return lax.cond(p, jax.checkpoint(loss), lambda x, w: (x @ w).sum(), x, w)

    for condition in (True, False):
        check(jax.grad(f, (1, 2)), np.bool_(condition), X, W)


def under_vmap():
    gradient = jax.vmap(jax.grad(jax.checkpoint(loss)), (0, None))
    check(gradient, np.stack([X, 2 * X, -X]), W, tolerance=1e-4)


def second_derivatives():
    check(jax.hessian(jax.checkpoint(lambda x: jnp.sin(x @ X).sum() ** 2)), X[:, 0])


def with_integers_and_bools():
    def f(w, index, mask):
        return jnp.where(mask[:, None], jnp.sin(w[index]), 0.0).sum()

    index, mask = np.array([3, 0, 0], np.int32), np.array([True, False, True])
    check(jax.grad(jax.checkpoint(f)), W, index, mask)


def in_half_precision():
    half = jnp.bfloat16

    def f(x, w):
        return jnp.tanh((x.astype(half) @ w.astype(half)).astype(jnp.float32)).sum()

    check(jax.grad(jax.checkpoint(f), (0, 1)), X, W, tolerance=3e-2)


def with_complex_numbers():
    def f(x, w):
        return jnp.abs(jnp.fft.fft(x @ w)).sum()

    check(jax.grad(jax.checkpoint(f), (0, 1)), X, W, tolerance=1e-4)


def with_empty_arrays():
    def f(x, e):
        return jnp.sin(x).sum() + jnp.sin(e).sum()

    check(jax.grad(jax.checkpoint(f), (0, 1)), X, np.zeros((0, 5), np.float32))


def barriers_of_all_kinds():
    def f(*given):
        return lax.optimization_barrier(given)

    check(
        f,
        X,
        np.float32(3),
        np.arange(7, dtype=np.int8),
        np.array([True, False]),
        np.zeros((0, 3), np.float32),
        X[0] + 1j * X[1],
        np.arange(5, dtype=np.uint16),
        jnp.asarray(W, jnp.bfloat16),
    )


def barriers_of_forty_arrays():
    given = [np.full((1 + n % 5, 1 + n % 3), n, np.float32) for n in range(40)]
    check(lambda *each: lax.optimization_barrier(jax.tree.map(jnp.sin, each)), *given)


def barriers_in_a_loop():
    def step(state):
        n, x, w = state
        n, x, w = lax.optimization_barrier((n + 1, layer(x, w), w * 0.9))
        return n, x, w

    check(lambda x, w: lax.while_loop(lambda s: s[0] < 5, step, (0, x, w)), X, W / 8)


def a_model_of_layers():
    """Check a residual network of normalised layers; each layer is rematerialised."""

    def block(x, weights):
        normed = (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)
        return x + jax.nn.gelu(normed @ weights["up"] + weights["bias"]) @ weights["down"]

    def f(layers, x):
        for each in layers:
            x = jax.checkpoint(block)(x, each)
        return (x**2).mean()

    layers = [
        {
            "up": RANDOM.standard_normal((4, 16)).astype(np.float32) / 4,
            "down": RANDOM.standard_normal((16, 4)).astype(np.float32) / 4,
            "bias": RANDOM.standard_normal(16).astype(np.float32),
        }
        for _ in range(3)
    ]
    check(jax.value_and_grad(f), layers, X, tolerance=1e-4)


def attention_with_a_mask():
    def attend(x, wq, wk, wv):
        q, k, v = x @ wq, x @ wk, x @ wv
        scores = jnp.where(jnp.tri(len(x), dtype=bool), q @ k.T / 2, -1e9)
        return (jax.nn.softmax(scores) @ v).sum()

    weights = [RANDOM.standard_normal((4, 6)).astype(np.float32) for _ in range(2)]
    value = RANDOM.standard_normal((4, 5)).astype(np.float32)
    check(jax.grad(jax.checkpoint(attend), (0, 1, 2, 3)), X, *weights, value, tolerance=1e-4)


def a_transformer_of_flax():
    import flax.linen as nn

    class Block(nn.Module):
        @nn.compact
        def __call__(self, x):
            x = x + nn.MultiHeadDotProductAttention(num_heads=2)(nn.LayerNorm()(x))
            hidden = nn.gelu(nn.Dense(2 * x.shape[-1])(nn.LayerNorm()(x)))
            return x + nn.Dense(x.shape[-1])(hidden)

    class Model(nn.Module):
        @nn.compact
        def __call__(self, x):
            for _ in range(2):
                x = nn.remat(Block)()(x)
            return nn.Dense(3)(x)

    x = RANDOM.standard_normal((2, 5, 8)).astype(np.float32)
    with jax.default_device(CPU):
        weights = Model().init(jax.random.key(0), x)
    weights = jax.tree.map(np.asarray, weights)
    check(jax.grad(lambda w, x: (Model().apply(w, x) ** 2).mean()), weights, x, tolerance=1e-4)


if __name__ == "__main__":
    for each in sys.argv[1:]:
        print(json.dumps([each, outcome(globals()[each])]), flush=True)
