"""Rotary position embedding of the first columns of heads; the others stay."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task
from metalbench.task.matrices import FLOATING
from metalbench.task.rope import SIZES, frequencies, magnitude
from metalbench.task.rope import turned as turned_halves


def in_part(function, x, turned, base, offset):
    """`function` of the columns that turn, and the others."""
    angle = (offset + np.arange(x.shape[1]))[:, None] * frequencies(turned, base)
    return np.concatenate([function(x[..., :turned], angle), x[..., turned:]], axis=-1)


@task(
    sizes={name: {**SIZES[name], "dims": SIZES[name]["dims"] + 13} for name in SIZES},
    gpu_headline="large",
    inputs=dict(x=normal("heads", "tokens", "dims")),
    outputs=dict(y=output("heads", "tokens", "dims")),
    constants=dict(turned=22, base=10000.0, offset=1000),
    oracle=lambda x, turned, base, offset: in_part(turned_halves, x, turned, base, offset),
    scale=lambda x, turned, base, offset: np.abs(in_part(magnitude, x, turned, base, offset)),
    dtypes=FLOATING,
    flops="3 * heads * tokens * turned",
    baseline="mx.fast.rope",
)
def rope_partial(x, turned, base, offset):
    return mx.fast.rope(x, turned, traditional=False, base=base, scale=1.0, offset=offset)
