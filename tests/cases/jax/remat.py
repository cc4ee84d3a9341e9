"""The gradient of a rematerialised function, whose barrier has three shapes, is XLA's."""

import jax
import jax.numpy as jnp
import numpy as np

random = np.random.RandomState(0)
x, w = random.randn(3, 4).astype("f"), random.randn(4, 60).astype("f")
gradient = jax.jit(
    jax.grad(jax.checkpoint(lambda x, w: jnp.sin(jnp.sin(x @ w) @ w.T).sum()), (0, 1))
)
found = gradient(x, w)
with jax.default_device(jax.devices("cpu")[0]):
    expected = gradient(x, w)
lines = gradient.lower(x, w).as_text().splitlines()
print("barriers", sum("optimization_barrier" in each for each in lines))
print("platforms", *(one.platform for each in (found, expected) for one in each[0].devices()))
for one, other in zip(found, expected, strict=True):
    error = np.abs(np.asarray(one) - np.asarray(other)).max() / np.abs(np.asarray(other)).max()
    print("error", error)
