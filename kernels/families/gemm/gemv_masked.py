"""Matrix times a vector of which some elements count."""

import numpy as np

from metalbench.task import integers, normal, output, task


@task(
    sizes=dict(
        small=dict(rows=64, cols=128),
        odd1=dict(rows=37, cols=1023),
        odd2=dict(rows=5, cols=4097),
        seed=dict(rows=1024, cols=1024),
        large=dict(rows=4096, cols=4096),
    ),
    gpu_headlines=("large",),
    inputs=dict(a=normal("rows", "cols"), x=normal("cols"), mask=integers("cols", high=2)),
    outputs=dict(y=output("rows")),
    oracle=lambda a, x, mask: a @ (x * mask),
    scale=lambda a, x, mask: np.abs(a) @ np.abs(x * mask),
    dtypes=("float32", "float16", "bfloat16"),
    flops="2 * rows * cols",
    baseline="a @ (x * mask)",
)
def gemv_masked(a, x, mask):
    return a @ (x * mask.astype(x.dtype))
