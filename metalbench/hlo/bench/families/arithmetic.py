"""Benchmark elementwise operations of one or two operands, with and without broadcasts."""

import jax.numpy as jnp
from jax import lax
from jax.scipy.special import erf

from metalbench.hlo.bench.catalogue import Function

LARGE = (1024, 1024)
ARITHMETIC: dict[str, Function] = {
    "add": (jnp.add, [LARGE, LARGE]),
    "divide": (jnp.divide, [LARGE, LARGE]),
    "power": (lambda x, y: jnp.power(jnp.abs(x), y), [LARGE, LARGE]),
    "exp": (jnp.exp, [LARGE]),
    "tanh": (jnp.tanh, [LARGE]),
    "erf": (erf, [LARGE]),
    "rsqrt": (lambda x: lax.rsqrt(jnp.abs(x) + 1), [LARGE]),
    "integers": (lambda x, y: (x * y) ^ (x >> 3), [(LARGE, "int32"), (LARGE, "int32")]),
    "broadcast_rows": (jnp.add, [LARGE, (1024,)]),
    "broadcast_columns": (jnp.multiply, [LARGE, (1024, 1)]),
    "compare_select": (lambda x, y: jnp.where(x > y, x, y * 2), [LARGE, LARGE]),
}
