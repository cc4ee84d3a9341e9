"""Attention of one query a head over a cache of 8-bit keys and values."""

from metalbench.formats.caches import (
    FLOPS,
    SIZES,
    cache_inputs,
    decode_exactly,
    decode_with_mlx,
    draw_decoding_size,
    traffic,
)
from metalbench.task import output, task


@task(
    sizes=SIZES,
    gpu_headlines=("large",),
    inputs=cache_inputs(8),
    outputs=dict(y=output("heads", "dims")),
    draw=draw_decoding_size,
    oracle=lambda q, k, k_scales, k_biases, v, v_scales, v_biases: decode_exactly(
        8, q, (k, k_scales, k_biases), (v, v_scales, v_biases)
    ),
    scale=lambda q, k, k_scales, k_biases, v, v_scales, v_biases: decode_exactly(
        8, q, (k, k_scales, k_biases), (v, v_scales, v_biases), sizes=True
    ),
    dtypes=("float32", "float16", "bfloat16"),
    flops=FLOPS,
    bytes=traffic(8),
    baseline="mx.quantized_matmul, mx.softmax",
)
def qsdpa_decode8(q, k, k_scales, k_biases, v, v_scales, v_biases):
    return decode_with_mlx(8, q, (k, k_scales, k_biases), (v, v_scales, v_biases))
