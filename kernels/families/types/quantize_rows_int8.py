"""Rows as bytes with one scale each: the largest magnitude of the row over 127."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task
from metalbench.task.families import FLOATING, ROWS


def quantized(x):
    """In float32, as the kernel: which of two bytes is nearer depends on it."""
    x = np.asarray(x, np.float32)
    scales = abs(x).max(axis=-1) / np.float32(127)
    divisors = np.where(scales > 0, scales, np.float32(1))
    return np.rint(x / divisors[:, None]).clip(-127, 127).astype(np.int8), scales


@task(
    sizes=ROWS,
    gpu_headlines=("large",),
    inputs=dict(x=normal("rows", "cols")),
    outputs=dict(y=output("rows", "cols", dtype="int8"), scales=output("rows", dtype="float32")),
    oracle=quantized,
    dtypes=FLOATING,
    flops="4 * rows * cols",
    baseline="mx.max, mx.round and astype",
)
def quantize_rows_int8(x):
    x = x.astype(mx.float32)
    scales = mx.max(mx.abs(x), axis=-1) / 127
    divisors = mx.where(scales > 0, scales, 1.0)
    return mx.clip(mx.round(x / divisors[:, None]), -127, 127).astype(mx.int8), scales
