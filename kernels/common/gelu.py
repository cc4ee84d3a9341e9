"""x times the normal distribution function of x (exact, not the tanh approximation)."""

import math

import mlx.core as mx
import scipy.special

from metalbench.task import normal, output, task


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
    inputs=dict(x=normal("rows", "cols")),
    outputs=dict(y=output("rows", "cols")),
    oracle=lambda x: x * scipy.special.ndtr(x),
    dtypes=("float32", "float16", "bfloat16"),
    flops="8 * rows * cols",
    baseline="x * (1 + mx.erf(x / sqrt(2))) / 2",
    torch=lambda torch, x: torch.nn.functional.gelu(x),
)
def gelu(x):
    return x * (1 + mx.erf(x / math.sqrt(2))) / 2
