"""Attention where a mask says for each query which keys it sees, and it sees itself."""

import math

import mlx.core as mx
import numpy as np

from metalbench.expression import parse
from metalbench.task import Input, output, task
from metalbench.task.attention import PREFILL_SIZES, attend, draw_prefill_size, prefill_inputs
from metalbench.task.dtypes import dtype


def some(random, shape, _):
    """Two of three pairs, and blocks of keys that many queries in a row see nothing of."""
    mask = random.random(shape) < 2 / 3
    mask[shape[0] // 4 :, : shape[1] // 4] = False
    np.fill_diagonal(mask, True)
    return mask


MASK = Input((parse("tokens"), parse("tokens")), dtype("bool"), "two of three", some)


@task(
    sizes=PREFILL_SIZES,
    gpu_headlines=("large",),
    inputs=dict(**prefill_inputs(), mask=MASK),
    outputs=dict(y=output("heads", "tokens", "dims")),
    draw=draw_prefill_size,
    oracle=lambda q, k, v, mask: attend(q, k, v, seen=mask.astype(bool)),
    scale=lambda q, k, v, mask: attend(q, k, v, seen=mask.astype(bool), sizes=True),
    dtypes=("float32", "float16", "bfloat16"),
    flops="4 * heads * tokens * tokens * dims",
    baseline="mx.fast.scaled_dot_product_attention(mask=)",
)
def sdpa_bool_mask(q, k, v, mask):
    scale = 1 / math.sqrt(q.shape[-1])
    heads = (each[None] for each in (q, k, v))
    return mx.fast.scaled_dot_product_attention(*heads, scale=scale, mask=mask)[0]
