"""Dense layer: x W + b."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task


@task(
    sizes=dict(
        small=dict(rows=32, inputs=32, outputs=64),
        odd1=dict(rows=37, inputs=65, outputs=23),
        odd2=dict(rows=5, inputs=129, outputs=67),
        seed=dict(rows=256, inputs=256, outputs=256),
        large=dict(rows=1024, inputs=1536, outputs=1536),
        huge=dict(rows=4096, inputs=1536, outputs=1536),
    ),
    gpu_headlines=("large", "huge"),
    inputs=dict(
        x=normal("rows", "inputs"),
        w=normal("inputs", "outputs"),
        bias=normal("outputs"),
    ),
    outputs=dict(y=output("rows", "outputs")),
    oracle=lambda x, w, bias: x @ w + bias,
    scale=lambda x, w, bias: np.abs(x) @ np.abs(w) + np.abs(bias),
    dtypes=("float32", "float16", "bfloat16"),
    flops="2 * rows * inputs * outputs + rows * outputs",
    baseline="mx.addmm",
    torch=lambda torch, x, w, bias: torch.addmm(bias, x, w),
)
def linear_bias(x, w, bias):
    return mx.addmm(bias, x, w)
