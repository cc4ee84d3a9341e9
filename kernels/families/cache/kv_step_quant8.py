"""A step of decoding: a new key and value into caches of 8 bits, and attention up to them."""

from metalbench.formats.caches import (
    STEP_INOUT,
    STEP_SIZES,
    draw_step_size,
    step_exactly,
    step_inputs,
    step_outputs,
    step_traffic,
    step_with_mlx,
)
from metalbench.task import task


def exactly(q, k, k_scales, k_biases, v, v_scales, v_biases, k_new, v_new, position, sizes=False):
    caches = ((k, k_scales, k_biases), (v, v_scales, v_biases))
    return step_exactly(8, q, caches, (k_new, v_new), position, sizes=sizes)


@task(
    sizes=STEP_SIZES,
    gpu_headlines=("large",),
    inputs=step_inputs(8),
    outputs=step_outputs(8),
    draw=draw_step_size,
    oracle=lambda q, k, k_scales, k_biases, v, v_scales, v_biases, k_new, v_new, position: exactly(
        q, k, k_scales, k_biases, v, v_scales, v_biases, k_new, v_new, position
    ),
    scale=lambda q, k, k_scales, k_biases, v, v_scales, v_biases, k_new, v_new, position: exactly(
        q, k, k_scales, k_biases, v, v_scales, v_biases, k_new, v_new, position, sizes=True
    ),
    dtypes=("float32", "float16", "bfloat16"),
    # As if the caches were full.
    flops="4 * heads * length * dims",
    bytes=step_traffic(8, "2 * length"),
    inout=STEP_INOUT,
    inout_bytes=step_traffic(8, "(length + 1)"),
    baseline="mx.quantize, mx.quantized_matmul, mx.softmax",
)
def kv_step_quant8(q, k, k_scales, k_biases, v, v_scales, v_biases, k_new, v_new, position):
    caches = ((k, k_scales, k_biases), (v, v_scales, v_biases))
    return step_with_mlx(8, q, caches, (k_new, v_new), position)
