"""Benchmark loops and branches."""

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from metalbench.hlo.bench.catalogue import Function


def newton(x: Any) -> Any:
    """Return square roots by 20 steps of Newton's method."""
    return lax.fori_loop(0, 20, lambda _, y: 0.5 * (y + x / y), x + 1)


def until_small(x: Any) -> Any:
    """Halve until all elements are small; the number of iterations is unknown before."""

    def is_large(state: Any) -> Any:
        return jnp.max(jnp.abs(state[0])) > 1e-2

    return lax.while_loop(is_large, lambda state: (state[0] * 0.5, state[1] + 1), (x, 0))


def recurrent(h: Any, w: Any) -> Any:
    """Apply a recurrent layer to 16 steps."""
    return lax.scan(lambda state, _: (jnp.tanh(state @ w), state.sum()), h, None, length=16)


def select_function(index: Any, x: Any) -> Any:
    """Apply one of three functions."""
    return lax.switch(index, [jnp.sin, jnp.cos, lambda x: x * 2], x)


CONTROL_FLOW: dict[str, Function] = {
    "fori": (newton, [(512, 512)]),
    "while": (until_small, [(256, 256)]),
    "scan": (recurrent, [(16, 256), (256, 256)]),
    "cond": (lambda p, x: lax.cond(p > 0, jnp.exp, jnp.negative, x), [(), (512, 512)]),
    "switch": (select_function, [((), "int32"), (512, 512)]),
    "map": (lambda x: jax.lax.map(jnp.cumsum, x), [(8, 256)]),
}
