"""max(x + a, 0), elementwise."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task


@task(
    sizes=dict(
        small=dict(n=1000),
        odd1=dict(n=1023),
        odd2=dict(n=37),
        seed=dict(n=4096),
        large=dict(n=8388608),
        huge=dict(n=67108864),
    ),
    gpu_headlines=("large", "huge"),
    inputs=dict(x=normal("n"), a=normal("n")),
    outputs=dict(y=output("n")),
    oracle=lambda x, a: np.maximum(x + a, 0),
    dtypes=("float32", "float16", "bfloat16"),
    flops="2 * n",
    baseline="mx.maximum(x + a, 0)",
    torch=lambda torch, x, a: torch.relu(x + a),
)
def add_relu(x, a):
    return mx.maximum(x + a, 0)
