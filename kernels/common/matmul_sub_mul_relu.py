"""Matrix product, minus 0.5, times 2, relu."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task


@task(
    sizes=dict(
        small=dict(m=32, n=64, k=32),
        odd1=dict(m=37, n=23, k=65),
        odd2=dict(m=5, n=67, k=129),
        seed=dict(m=256, n=256, k=256),
        large=dict(m=1024, n=1536, k=1536),
        huge=dict(m=4096, n=1536, k=1536),
    ),
    gpu_headlines=("large", "huge"),
    inputs=dict(
        x=normal("m", "k"),
        w=normal("k", "n"),
    ),
    outputs=dict(y=output("m", "n")),
    oracle=lambda x, w: np.maximum((x @ w - 0.5) * 2, 0),
    scale=lambda x, w: 2 * (np.abs(x) @ np.abs(w)) + 1,
    dtypes=("float32", "float16", "bfloat16"),
    flops="2 * m * n * k + 3 * m * n",
    baseline="matmul, mx.maximum",
    torch=lambda torch, x, w: torch.relu((x @ w - 0.5) * 2),
)
def matmul_sub_mul_relu(x, w):
    return mx.maximum((x @ w - 0.5) * 2, 0)
