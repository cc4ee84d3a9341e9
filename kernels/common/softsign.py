"""x / (1 + |x|), elementwise."""

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
    inputs=dict(x=normal("rows", "cols").also(with_special(60000.0, -0.0))),
    outputs=dict(y=output("rows", "cols")),
    oracle=lambda x: x / (1 + np.abs(x)),
    dtypes=("float32", "float16", "bfloat16"),
    flops="3 * rows * cols",
    baseline="x / (1 + mx.abs(x))",
    torch=lambda torch, x: torch.nn.functional.softsign(x),
)
def softsign(x):
    return x / (1 + mx.abs(x))
