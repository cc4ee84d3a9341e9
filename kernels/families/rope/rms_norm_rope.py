"""Root-mean-square norm of heads with weights, and their rotary position embedding."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task
from metalbench.task.attention import (
    ROPE_SIZES,
    rotary_frequencies,
    rotate_halves,
    rotation_magnitude,
)
from metalbench.task.families import FLOATING
from metalbench.task.oracles import root_mean_square


def of_norm(function, x, w, base, offset, eps):
    """`function` of the weighted norm and the angles."""
    angle = (offset + np.arange(x.shape[1]))[:, None] * rotary_frequencies(x.shape[-1], base)
    return function(x / root_mean_square(x, eps) * w, angle)


@task(
    sizes=ROPE_SIZES,
    gpu_headlines=("large",),
    inputs=dict(x=normal("heads", "tokens", "dims"), w=normal("dims", mean=1, deviation=0.2)),
    outputs=dict(y=output("heads", "tokens", "dims")),
    multiples=dict(dims=2),
    constants=dict(base=10000.0, offset=1000, eps=1e-6),
    oracle=lambda x, w, base, offset, eps: of_norm(rotate_halves, x, w, base, offset, eps),
    scale=lambda x, w, base, offset, eps: of_norm(rotation_magnitude, x, w, base, offset, eps),
    dtypes=FLOATING,
    flops="8 * heads * tokens * dims",
    baseline="mx.fast.rope(mx.fast.rms_norm)",
)
def rms_norm_rope(x, w, base, offset, eps):
    normed = mx.fast.rms_norm(x, w, eps)
    return mx.fast.rope(normed, x.shape[-1], traditional=False, base=base, scale=1.0, offset=offset)
