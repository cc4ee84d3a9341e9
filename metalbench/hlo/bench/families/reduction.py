"""Benchmark reductions of rows, of columns and of all elements, and running sums."""

import jax.numpy as jnp

from metalbench.hlo.bench.catalogue import Function

LARGE = (1024, 1024)
REDUCTION: dict[str, Function] = {
    "sum_all": (jnp.sum, [LARGE]),
    "sum_rows": (lambda x: x.sum(axis=1), [LARGE]),
    "sum_columns": (lambda x: x.sum(axis=0), [LARGE]),
    "max_rows": (lambda x: x.max(axis=1), [LARGE]),
    "mean_middle": (lambda x: x.mean(axis=1), [(32, 256, 128)]),
    "argmax": (lambda x: jnp.argmax(x, axis=-1), [LARGE]),
    "logsumexp": (
        lambda x: jnp.log(jnp.exp(x - x.max(-1, keepdims=True)).sum(-1)) + x.max(-1),
        [LARGE],
    ),
    "cumsum": (lambda x: jnp.cumsum(x, axis=1), [(64, 512)]),
}
