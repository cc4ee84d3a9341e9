"""Train with JAX on the double of Metal while its GPU does nothing, then let it run.

Print a line of JSON: the command buffers that were committed and that had ended before the host
read a value, and the largest difference of the weights to NumPy's.
"""

from __future__ import annotations

import json
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from metal_double import plugin

STEPS = 20
RATE = np.float32(0.1)


@partial(jax.jit, donate_argnums=0)
def step(weights, batch):
    """One step of gradient descent."""
    loss, gradient = jax.value_and_grad(lambda w: jnp.mean((batch @ w) ** 2))(weights)
    return weights - RATE * gradient, loss


def main() -> None:
    """Train, and compare."""
    double = plugin.controls()
    numbers = np.random.default_rng(0)
    batches = numbers.normal(size=(STEPS, 8, 4)).astype(np.float32)
    first = numbers.normal(size=(4, 3)).astype(np.float32)
    jax.block_until_ready(step(jnp.array(first), jnp.array(batches[0])))
    weights = jax.block_until_ready(jnp.array(first))
    commits, ended = double.get("commits"), double.get("command_buffers")
    double.set("hang_command_buffer")
    losses = []
    for batch in batches:
        # The memory of an earlier batch, which the GPU has yet to read, is free for this one.
        weights, loss = step(weights, batch)
        losses.append(loss)
    seen = {
        "commits": double.get("commits") - commits,
        "ended": double.get("command_buffers") - ended,
    }
    double.reset()
    expected = first
    for batch in batches:
        expected = expected - RATE * 2 * batch.T @ (batch @ expected) / (8 * 3)
    seen["difference"] = float(np.abs(np.asarray(weights) - expected).max())
    seen["losses"] = len({float(each) for each in losses})
    print(json.dumps(seen))


main()
