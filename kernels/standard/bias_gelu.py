"""gelu(x + bias) with a row vector, exact."""

import math

import mlx.core as mx
import scipy.special

from metalbench.task import normal, output, task


@task(
    sizes=dict(
        small=dict(rows=16, cols=256),
        odd1=dict(rows=37, cols=1023),
        odd2=dict(rows=5, cols=4097),
        seed=dict(rows=1024, cols=1024),
        large=dict(rows=2048, cols=4096),
        huge=dict(rows=18432, cols=4096),
    ),
    gpu_headlines=("large", "huge"),
    inputs=dict(x=normal("rows", "cols"), bias=normal("cols")),
    outputs=dict(y=output("rows", "cols")),
    oracle=lambda x, bias: (x + bias) * scipy.special.ndtr(x + bias),
    dtypes=("float32", "float16", "bfloat16"),
    flops="9 * rows * cols",
    baseline="(x + bias) * (1 + mx.erf((x + bias) / sqrt(2))) / 2",
    torch=lambda torch, x, bias: torch.nn.functional.gelu(x + bias),
)
def bias_gelu(x, bias):
    return (x + bias) * (1 + mx.erf((x + bias) / math.sqrt(2))) / 2
