"""A product of two slim matrices that are very long: few results, many terms of each."""

import numpy as np

from metalbench.task import normal, output, task


@task(
    sizes=dict(
        small=dict(m=16, n=16, k=256),
        odd1=dict(m=17, n=35, k=1029),
        odd2=dict(m=33, n=5, k=3),
        seed=dict(m=32, n=32, k=16384),
        large=dict(m=64, n=64, k=262144),
    ),
    gpu_headlines=("large",),
    inputs=dict(a=normal("m", "k"), b=normal("n", "k")),
    outputs=dict(y=output("m", "n")),
    oracle=lambda a, b: a @ b.T,
    scale=lambda a, b: np.abs(a) @ np.abs(b).T,
    dtypes=("float32", "float16", "bfloat16"),
    flops="2 * m * n * k",
    baseline="a @ b.T",
)
def splitk_mm(a, b):
    return a @ b.T
