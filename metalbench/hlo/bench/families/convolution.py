"""Benchmark convolutions and pools, with channels last and first."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from jax import lax

from metalbench.hlo.bench.catalogue import Function


def convolution(
    strides: Any = (1, 1),
    padding: Any = "SAME",
    groups: Any = 1,
    dilation: Any = (1, 1),
    layout: Any = "NHWC",
) -> Callable[..., Any]:
    """Return a convolution of jax.lax with these attributes."""

    def of(x: Any, w: Any) -> Any:
        return lax.conv_general_dilated(
            x,
            w,
            strides,
            padding,
            rhs_dilation=dilation,
            feature_group_count=groups,
            dimension_numbers=(layout, "HWIO" if layout == "NHWC" else "OIHW", layout),
        )

    return of


def max_pool(x: Any) -> Any:
    """Return the maxima of windows of 2 x 2, with channels last."""
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


CONVOLUTION: dict[str, Function] = {
    "conv_3x3": (convolution(), [(4, 28, 28, 32), (3, 3, 32, 32)]),
    "conv_1x1": (convolution(), [(4, 28, 28, 64), (1, 1, 64, 64)]),
    "conv_7x7_stride": (convolution((2, 2)), [(1, 112, 112, 3), (7, 7, 3, 32)]),
    "conv_channels_first": (convolution(layout="NCHW"), [(4, 32, 28, 28), (32, 32, 3, 3)]),
    "depthwise": (convolution(groups=64), [(4, 28, 28, 64), (3, 3, 1, 64)]),
    "dilated": (convolution(dilation=(2, 2)), [(2, 28, 28, 32), (3, 3, 32, 32)]),
    "conv_relu": (
        lambda x, w, b: jnp.maximum(convolution()(x, w) + b, 0),
        [(4, 28, 28, 32), (3, 3, 32, 32), (32,)],
    ),
    "max_pool": (max_pool, [(8, 56, 56, 32)]),
}
