"""Decoding with latent attention: all heads share rows of 512 latent and 64 rotary elements."""

import math

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task
from metalbench.task.attention import GENTLE_VARIATIONS, attend


def result(q, cache, rotary, scaling_dims, sizes=False):
    """Text by text: heads are queries of one head, and values the latent part of keys."""
    q = q * math.sqrt(q.shape[-1] / scaling_dims)
    texts = zip(q[:, None], cache[:, None], strict=True)
    return np.concatenate(
        [attend(one, rows, rows[..., :-rotary], sizes=sizes) for one, rows in texts]
    )


@task(
    sizes=dict(
        small=dict(batch=2, heads=4, keys=37, latent=64),
        odd1=dict(batch=1, heads=11, keys=130, latent=104),
        odd2=dict(batch=3, heads=16, keys=53, latent=512),
        seed=dict(batch=1, heads=16, keys=600, latent=512),
        large=dict(batch=4, heads=128, keys=8192, latent=512),
    ),
    gpu_headlines=("large",),
    inputs=dict(
        q=normal("batch", "heads", "latent + rotary").only(*GENTLE_VARIATIONS),
        cache=normal("batch", "keys", "latent + rotary").only(*GENTLE_VARIATIONS),
    ),
    outputs=dict(y=output("batch", "heads", "latent")),
    # A query and a key before they are absorbed: 128 dims and 64 with rotary positions.
    constants=dict(rotary=64, scaling_dims=192),
    draw=lambda random: dict(
        batch=int(random.integers(1, 4)),
        heads=int(random.integers(1, 33)),
        keys=int(random.integers(20, 601)),
        latent=8 * int(random.integers(4, 65)),
    ),
    oracle=lambda q, cache, rotary, scaling_dims: result(q, cache, rotary, scaling_dims),
    scale=lambda q, cache, rotary, scaling_dims: result(q, cache, rotary, scaling_dims, sizes=True),
    dtypes=("float32", "float16", "bfloat16"),
    flops="2 * batch * heads * keys * (2 * latent + rotary)",
    baseline="mx.fast.scaled_dot_product_attention",
)
def mla_decode(q, cache, rotary, scaling_dims):
    rows = cache[:, None]
    y = mx.fast.scaled_dot_product_attention(
        q[:, None], rows, rows[..., :-rotary], scale=1 / math.sqrt(scaling_dims)
    )
    return y[:, 0]
