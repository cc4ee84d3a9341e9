"""s sigmoid(2 s) of the sum s = x + a, elementwise."""

import mlx.core as mx
import scipy.special

from metalbench.task import normal, output, task


def swish_of_sum(x, a):
    """The sum times the logistic function of twice the sum."""
    total = x + a
    return total * scipy.special.expit(2 * total)


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
    oracle=swish_of_sum,
    dtypes=("float32", "float16", "bfloat16"),
    flops="7 * n",
    baseline="(x + a) * mx.sigmoid(2 * (x + a))",
)
def add_swish(x, a):
    return (x + a) * mx.sigmoid(2 * (x + a))
