"""alpha A B + beta C: a matrix product that is added to what is there."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task


@task(
    sizes=dict(
        small=dict(m=16, n=32, k=32),
        odd1=dict(m=37, n=41, k=29),
        odd2=dict(m=129, n=130, k=131),
        seed=dict(m=256, n=512, k=512),
        large=dict(m=4096, n=4096, k=4096),
    ),
    gpu_headlines=("large",),
    inputs=dict(a=normal("m", "k"), b=normal("k", "n"), c=normal("m", "n")),
    outputs=dict(y=output("m", "n")),
    constants=dict(alpha=0.5, beta=2.0),
    oracle=lambda a, b, c, alpha, beta: alpha * (a @ b) + beta * c,
    scale=lambda a, b, c, alpha, beta: alpha * (np.abs(a) @ np.abs(b)) + beta * np.abs(c),
    dtypes=("float32", "float16", "bfloat16"),
    flops="2 * m * n * k + 3 * m * n",
    baseline="mx.addmm",
)
def addmm(a, b, c, alpha, beta):
    return mx.addmm(c, a, b, alpha, beta)
