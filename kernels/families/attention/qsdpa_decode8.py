"""Attention of one query a head over a cache of 8-bit keys and values."""

from metalbench.formats.decoding import FLOPS, SIZES, attended, drawn, expected, inputs, traffic
from metalbench.task import output, task


@task(
    sizes=SIZES,
    gpu_headlines=("large",),
    inputs=inputs(8),
    outputs=dict(y=output("heads", "dims")),
    draw=drawn,
    oracle=lambda q, k, k_scales, k_biases, v, v_scales, v_biases: expected(
        8, q, (k, k_scales, k_biases), (v, v_scales, v_biases)
    ),
    scale=lambda q, k, k_scales, k_biases, v, v_scales, v_biases: expected(
        8, q, (k, k_scales, k_biases), (v, v_scales, v_biases), sizes=True
    ),
    dtypes=("float32", "float16", "bfloat16"),
    flops=FLOPS,
    bytes=traffic(8),
    baseline="mx.quantized_matmul, mx.softmax",
)
def qsdpa_decode8(q, k, k_scales, k_biases, v, v_scales, v_biases):
    return attended(8, q, (k, k_scales, k_biases), (v, v_scales, v_biases))
