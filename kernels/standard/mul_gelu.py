"""gelu(x a), elementwise."""

import math

import mlx.core as mx
import scipy.special

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
    oracle=lambda x, a: (x * a) * scipy.special.ndtr(x * a),
    dtypes=("float32", "float16", "bfloat16"),
    flops="9 * n",
    baseline="(x * a) * (1 + mx.erf((x * a) / math.sqrt(2))) / 2",
    torch=lambda torch, x, a: torch.nn.functional.gelu(x * a),
)
def mul_gelu(x, a):
    return (x * a) * (1 + mx.erf((x * a) / math.sqrt(2))) / 2
