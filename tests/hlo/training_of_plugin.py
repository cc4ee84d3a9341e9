"""Train Flax models with Optax through the plugin; the losses of 200 steps are those of XLA:CPU."""

from __future__ import annotations

import sys

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax

CPU = jax.devices("cpu")[0]
STEPS = 200


class Block(nn.Module):
    @nn.compact
    def __call__(self, x):
        mask = nn.make_causal_mask(jnp.ones(x.shape[:2]))
        x = x + nn.MultiHeadDotProductAttention(num_heads=2)(nn.LayerNorm()(x), mask=mask)
        hidden = nn.gelu(nn.Dense(4 * x.shape[-1])(nn.LayerNorm()(x)))
        return x + nn.Dense(x.shape[-1])(hidden)


class Gpt(nn.Module):
    @nn.compact
    def __call__(self, tokens):
        x = nn.Embed(11, 16)(tokens) + nn.Embed(8, 16)(jnp.arange(tokens.shape[1]))
        for _ in range(2):
            x = Block()(x)
        return nn.Dense(11)(nn.LayerNorm()(x))


class ResidualBlock(nn.Module):
    channels: int
    stride: int = 1

    @nn.compact
    def __call__(self, x):
        y = nn.Conv(self.channels, (3, 3), self.stride, use_bias=False)(x)
        y = nn.relu(nn.GroupNorm(num_groups=4)(y))
        y = nn.GroupNorm(num_groups=4)(nn.Conv(self.channels, (3, 3), use_bias=False)(y))
        if x.shape != y.shape:
            x = nn.Conv(self.channels, (1, 1), self.stride)(x)
        return nn.relu(x + y)


class ResNet(nn.Module):
    @nn.compact
    def __call__(self, images):
        x = nn.relu(nn.Conv(8, (3, 3))(images))
        x = nn.max_pool(x, (2, 2), (2, 2))
        x = ResidualBlock(16, 2)(ResidualBlock(8)(x))
        return nn.Dense(5)(x.mean((1, 2)))


def losses(device, model, inputs, labels):
    optimiser = optax.adam(1e-2)
    with jax.default_device(CPU):  # the same weights to begin with
        weights = model.init(jax.random.key(0), inputs)
    weights, inputs, labels = jax.device_put((weights, inputs, labels), device)

    def loss(weights):
        logits = model.apply(weights, inputs)
        return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()

    @jax.jit
    def step(weights, state):
        value, gradient = jax.value_and_grad(loss)(weights)
        updates, state = optimiser.update(gradient, state)
        return optax.apply_updates(weights, updates), state, value

    found = []
    with jax.default_device(device):
        state = optimiser.init(weights)
        for _ in range(STEPS):
            weights, state, value = step(weights, state)
            found.append(value)
    assert value.devices() == {device}
    return [float(each) for each in found]


def compare(model, inputs, labels):
    found = losses(jax.devices()[0], model, inputs, labels)
    expected = losses(CPU, model, inputs, labels)
    # The losses fall to a thousandth, and rounding is of the first ones.
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    assert found[-1] < found[0] / 2


def gpt():
    tokens = np.random.default_rng(0).integers(0, 11, (4, 9))
    compare(Gpt(), tokens[:, :-1], tokens[:, 1:])


def resnet():
    random = np.random.default_rng(0)
    images = random.standard_normal((8, 12, 12, 3)).astype(np.float32)
    compare(ResNet(), images, random.integers(0, 5, 8))


if __name__ == "__main__":
    globals()[sys.argv[1]]()
