"""Run unmodified programs of libraries over JAX through the plugin, by name.

Each function compares the results with those of XLA:CPU. Print a line of JSON for each: its name,
and the failure or null.
"""

from __future__ import annotations

import json
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from functions_of_plugin import CPU, outcome


def compare(function, tolerance):
    """Compare the results of a function on the plugin's device and on XLA's."""
    found = []
    for device in (jax.devices()[0], CPU):
        with jax.default_device(device):
            found.append(jax.tree.map(np.asarray, function()))
    jax.tree.map(
        lambda got, want: np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance),
        *found,
    )


def diffrax():
    import diffrax
    import equinox

    def solve(start, rates, steps=4096):
        def derivative(time, state, rates):
            prey, predators = state
            return jnp.stack(
                [rates[0] * prey - rates[1] * prey * predators, (prey / 2 - 1) * predators]
            )

        return diffrax.diffeqsolve(
            diffrax.ODETerm(derivative),
            diffrax.Tsit5(),
            t0=0.0,
            t1=5.0,
            dt0=0.05,
            y0=start,
            args=rates,
            max_steps=steps,
            saveat=diffrax.SaveAt(ts=jnp.linspace(0.0, 5.0, 5)),
            stepsize_controller=diffrax.PIDController(rtol=1e-5, atol=1e-6),
        ).ys

    def gradients():
        return jax.jit(jax.value_and_grad(lambda start, rates: solve(start, rates).sum()))(
            jnp.ones(2), (1.5, 1.0)
        )

    compare(gradients, 1e-3)
    # The solver reports by a callback that raises.
    with pytest.raises(equinox.EquinoxRuntimeError, match="maximum number of solver steps"):
        jax.block_until_ready(solve(jnp.ones(2), (1.5, 1.0), steps=3))


def numpyro():
    import numpyro
    from numpyro import distributions
    from numpyro.infer import MCMC, NUTS

    random = np.random.default_rng(0)
    x = random.standard_normal(50).astype(np.float32)
    y = (1 + 2 * x + 0.3 * random.standard_normal(50)).astype(np.float32)

    def model(x, y):
        offset = numpyro.sample("offset", distributions.Normal(0, 1))
        slope = numpyro.sample("slope", distributions.Normal(0, 1))
        spread = numpyro.sample("spread", distributions.Exponential(1.0))
        numpyro.sample("y", distributions.Normal(offset + slope * x, spread), obs=y)

    def sample():
        chain = MCMC(NUTS(model), num_warmup=100, num_samples=100, progress_bar=False)
        chain.run(jax.random.PRNGKey(0), x=jnp.asarray(x), y=jnp.asarray(y))
        return {name: each.mean() for name, each in chain.get_samples().items()}

    # The trajectories of a chain diverge with rounding, its means much less.
    compare(sample, 0.05)


def flax():
    import optax
    from flax import nnx

    class Block(nnx.Module):
        def __init__(self, width, rngs):
            self.norms = nnx.List([nnx.LayerNorm(width, rngs=rngs) for _ in range(2)])
            self.attention = nnx.MultiHeadAttention(
                num_heads=2, in_features=width, decode=False, rngs=rngs
            )
            self.up = nnx.Linear(width, 4 * width, rngs=rngs)
            self.down = nnx.Linear(4 * width, width, rngs=rngs)

        def __call__(self, x):
            mask = nnx.make_causal_mask(jnp.ones(x.shape[:2]))
            x = x + self.attention(self.norms[0](x), mask=mask)
            return x + self.down(nnx.gelu(self.up(self.norms[1](x))))

    class Model(nnx.Module):
        def __init__(self, tokens, width, rngs):
            self.embedding = nnx.Embed(tokens, width, rngs=rngs)
            self.blocks = nnx.List([Block(width, rngs) for _ in range(2)])
            self.output = nnx.Linear(width, tokens, rngs=rngs)

        def __call__(self, tokens):
            x = self.embedding(tokens)
            for block in self.blocks:
                x = nnx.remat(lambda block, x: block(x))(block, x)
            return self.output(x)

    def train():
        model = Model(32, 16, nnx.Rngs(0))
        optimizer = nnx.Optimizer(model, optax.adamw(1e-2), wrt=nnx.Param)
        tokens = jnp.asarray(np.random.default_rng(0).integers(0, 32, (4, 12)))

        @nnx.jit
        def step(model, optimizer, tokens):
            def loss(model):
                given = model(tokens[:, :-1])
                return optax.softmax_cross_entropy_with_integer_labels(given, tokens[:, 1:]).mean()

            value, gradient = nnx.value_and_grad(loss)(model)
            optimizer.update(model, gradient)
            return value

        return [step(model, optimizer, tokens) for _ in range(5)]

    compare(train, 1e-4)


if __name__ == "__main__":
    for each in sys.argv[1:]:
        print(json.dumps([each, outcome(globals()[each])]), flush=True)
