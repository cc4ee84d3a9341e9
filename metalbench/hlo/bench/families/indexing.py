"""Benchmark gather, scatter, slices and sorts."""

import jax.numpy as jnp
from jax import lax

from metalbench.hlo.bench.catalogue import Function

TABLE = (8192, 256)
INDEXING: dict[str, Function] = {
    "gather_rows": (lambda table, i: table[i], [TABLE, ((1024,), "int32")]),
    "take_along": (
        lambda x, i: jnp.take_along_axis(x, i, axis=1),
        [(512, 512), ((512, 128), "int32")],
    ),
    "scatter_add": (lambda x, i, u: x.at[i].add(u), [(1024, 256), ((128,), "int32"), (128, 256)]),
    "scatter_set": (
        lambda x, i, u: x.at[i].set(u, unique_indices=True),
        [(1024, 256), ((128,), "int32"), (128, 256)],
    ),
    "dynamic_slice": (
        lambda x, i: lax.dynamic_slice(x, (i, 0), (256, 512)),
        [(1024, 512), ((), "int32")],
    ),
    "dynamic_update": (
        lambda x, y, i: lax.dynamic_update_slice(x, y, (i, 0)),
        [(1024, 512), (64, 512), ((), "int32")],
    ),
    "sort": (lambda x: jnp.sort(x, axis=-1), [(64, 4096)]),
    "argsort": (lambda x: jnp.argsort(x, axis=-1), [(64, 1024)]),
    "top_k": (lambda x: lax.top_k(x, 8), [(64, 1024)]),
    "one_hot": (lambda i: jnp.eye(512)[i], [((512,), "int32")]),
}
