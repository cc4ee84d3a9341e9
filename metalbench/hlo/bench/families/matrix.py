"""Benchmark matrix products: batched, transposed, and with few columns."""

import jax.numpy as jnp

from metalbench.hlo.bench.catalogue import Function

MATRIX: dict[str, Function] = {
    "dot_128": (jnp.matmul, [(128, 128), (128, 128)]),
    "dot_512": (jnp.matmul, [(512, 512), (512, 512)]),
    "dot_1024": (jnp.matmul, [(1024, 1024), (1024, 1024)]),
    "dot_odd": (jnp.matmul, [(513, 257), (257, 385)]),
    "dot_half": (jnp.matmul, [((512, 512), "float16"), ((512, 512), "float16")]),
    "dot_transposed": (lambda a, b: a @ b.T, [(512, 512), (512, 512)]),
    "dot_of_transposed": (lambda a, b: a.T @ b, [(512, 512), (512, 512)]),
    "matvec": (jnp.matmul, [(4096, 1024), (1024,)]),
    "batched": (jnp.matmul, [(16, 128, 128), (16, 128, 128)]),
    "outer": (jnp.outer, [(1024,), (1024,)]),
}
