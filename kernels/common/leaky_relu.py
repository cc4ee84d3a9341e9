"""x where x is positive, else slope times x, elementwise."""

import math

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task, with_special


@task(
    sizes=dict(
        small=dict(rows=16, cols=256),
        odd1=dict(rows=37, cols=1023),
        odd2=dict(rows=5, cols=4097),
        seed=dict(rows=16, cols=16384),
        large=dict(rows=2048, cols=4096),
        huge=dict(rows=18432, cols=4096),
    ),
    gpu_headlines=("large", "huge"),
    inputs=dict(x=normal("rows", "cols").also(with_special(math.inf, -math.inf, -0.0))),
    outputs=dict(y=output("rows", "cols")),
    constants=dict(slope=0.01),
    oracle=lambda x, slope: np.where(x > 0, x, slope * x),
    dtypes=("float32", "float16", "bfloat16"),
    flops="2 * rows * cols",
    baseline="mx.maximum(slope * x, x)",
    torch=lambda torch, x, slope: torch.nn.functional.leaky_relu(x, slope),
)
def leaky_relu(x, slope):
    return mx.maximum(slope * x, x)
