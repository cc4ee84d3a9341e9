"""Attention over those keys of an 8-bit cache that a mask keeps."""

from metalbench.expression import parse
from metalbench.formats.caches import (
    SIZES,
    cache_inputs,
    decode_exactly,
    decode_with_mlx,
    draw_decoding_size,
    traffic,
)
from metalbench.task import Input, output, task
from metalbench.task.dtypes import dtype


def kept(random, shape, _):
    """Half of the keys, none of a long span in the middle, and the last."""
    mask = random.random(shape) < 0.5
    mask[shape[0] // 8 : -shape[0] // 4] = False
    mask[-1] = True
    return mask


MASK = Input((parse("keys"),), dtype("bool"), "half of the keys, in two spans", kept)


@task(
    sizes=SIZES,
    gpu_headlines=("large",),
    inputs=dict(cache_inputs(8), mask=MASK),
    outputs=dict(y=output("heads", "dims")),
    draw=draw_decoding_size,
    oracle=lambda q, k, k_scales, k_biases, v, v_scales, v_biases, mask: decode_exactly(
        8, q, (k, k_scales, k_biases), (v, v_scales, v_biases), rows=mask.astype(bool)
    ),
    scale=lambda q, k, k_scales, k_biases, v, v_scales, v_biases, mask: decode_exactly(
        8, q, (k, k_scales, k_biases), (v, v_scales, v_biases), rows=mask.astype(bool), sizes=True
    ),
    dtypes=("float32", "float16", "bfloat16"),
    flops="4 * heads * keys * dims",
    bytes=traffic(8),
    baseline="mx.quantized_matmul, mx.softmax",
)
def qsdpa_decode8_mask(q, k, k_scales, k_biases, v, v_scales, v_biases, mask):
    return decode_with_mlx(8, q, (k, k_scales, k_biases), (v, v_scales, v_biases), mask=mask)
