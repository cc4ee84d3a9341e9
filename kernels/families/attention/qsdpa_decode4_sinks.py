"""Attention over the last 500 keys of a 4-bit cache, with logits that have no value."""

from metalbench.formats.caches import (
    SIZES,
    cache_inputs,
    decode_exactly,
    decode_with_mlx,
    draw_decoding_size,
    traffic,
)
from metalbench.task import normal, output, task


@task(
    sizes=SIZES,
    gpu_headlines=("large",),
    inputs=dict(cache_inputs(4), sinks=normal("heads", mean=3.0).only()),
    outputs=dict(y=output("heads", "dims")),
    constants=dict(window=500),
    draw=draw_decoding_size,
    oracle=lambda q, k, k_scales, k_biases, v, v_scales, v_biases, sinks, window: decode_exactly(
        4,
        q,
        (k, k_scales, k_biases),
        (v, v_scales, v_biases),
        sinks=sinks,
        rows=slice(-min(window, k.shape[1]), None),
    ),
    scale=lambda q, k, k_scales, k_biases, v, v_scales, v_biases, sinks, window: decode_exactly(
        4,
        q,
        (k, k_scales, k_biases),
        (v, v_scales, v_biases),
        sinks=sinks,
        rows=slice(-min(window, k.shape[1]), None),
        sizes=True,
    ),
    dtypes=("float32", "float16", "bfloat16"),
    flops="4 * heads * min(keys, 500) * dims",
    bytes=traffic(4, "min(keys, 500)"),
    baseline="mx.quantized_matmul, mx.softmax",
)
def qsdpa_decode4_sinks(q, k, k_scales, k_biases, v, v_scales, v_biases, sinks, window):
    k, k_scales, k_biases = (each[:, -window:] for each in (k, k_scales, k_biases))
    v, v_scales, v_biases = (each[:, -window:] for each in (v, v_scales, v_biases))
    return decode_with_mlx(4, q, (k, k_scales, k_biases), (v, v_scales, v_biases), sinks=sinks)
