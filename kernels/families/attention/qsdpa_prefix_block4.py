"""Causal attention of a block of new tokens over a cache of 4 bits that holds them too."""

from metalbench.formats.caches import (
    PREFIX_SIZES,
    draw_prefix_size,
    prefix_inputs,
    read_block_exactly,
    read_block_with_mlx,
    traffic,
)
from metalbench.task import output, task


@task(
    sizes=PREFIX_SIZES,
    gpu_headlines=("large",),
    inputs=prefix_inputs(4),
    outputs=dict(y=output("tokens", "heads", "dims")),
    draw=draw_prefix_size,
    oracle=lambda q, k, k_scales, k_biases, v, v_scales, v_biases: read_block_exactly(
        4, q, (k, k_scales, k_biases), (v, v_scales, v_biases)
    ),
    scale=lambda q, k, k_scales, k_biases, v, v_scales, v_biases: read_block_exactly(
        4, q, (k, k_scales, k_biases), (v, v_scales, v_biases), sizes=True
    ),
    dtypes=("float32", "float16", "bfloat16"),
    flops="4 * heads * tokens * (before + tokens) * dims",
    bytes=traffic(4, "(before + tokens)", "heads * tokens"),
    baseline="mx.dequantize, mx.fast.scaled_dot_product_attention(mask='causal')",
)
def qsdpa_prefix_block4(q, k, k_scales, k_biases, v, v_scales, v_biases):
    return read_block_with_mlx(4, q, (k, k_scales, k_biases), (v, v_scales, v_biases))
