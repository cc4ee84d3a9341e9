"""Benchmark data movement."""

import jax.numpy as jnp

from metalbench.hlo.bench.catalogue import Function

LARGE = (1024, 1024)
MEMORY: dict[str, Function] = {
    "copy": (lambda x: x + 0, [LARGE]),
    "axpy_16m": (lambda x, y: 2 * x + y, [(4096, 4096), (4096, 4096)]),
    "transpose": (lambda x: x.T, [LARGE]),
    "transpose_4": (lambda x: x.transpose(0, 2, 1, 3), [(8, 128, 16, 64)]),
    "reverse": (lambda x: x[::-1, ::-1], [LARGE]),
    "concatenate": (lambda x, y: jnp.concatenate([x, y], axis=1), [LARGE, LARGE]),
    "pad": (lambda x: jnp.pad(x, ((3, 5), (7, 1))), [LARGE]),
    "strided": (lambda x: x[::2, ::3], [LARGE]),
}
