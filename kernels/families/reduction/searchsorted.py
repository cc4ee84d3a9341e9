"""Where values belong in an ascending array, before what equals them."""

import math
from dataclasses import replace

import mlx.core as mx
import numpy as np

from metalbench.task import coarse, normal, output, task, with_special
from metalbench.task.families import FLOATING

ascending = replace(
    normal("n").only(coarse()),
    draw=lambda random, shape, _: np.sort(random.standard_normal(shape, dtype=np.float32)),
    together=True,
)


@task(
    sizes=dict(
        small=dict(n=64, values=100),
        odd1=dict(n=1023, values=37),
        odd2=dict(n=1, values=33),
        seed=dict(n=65536, values=16384),
        large=dict(n=1048576, values=4194304),
    ),
    gpu_headlines=("large",),
    inputs=dict(a=ascending, v=normal("values").only(coarse(), with_special(math.inf, -math.inf))),
    outputs=dict(y=output("values", dtype="uint32")),
    oracle=lambda a, v: np.searchsorted(a, v),
    dtypes=FLOATING,
    flops="values",
    baseline="mx.searchsorted",
)
def searchsorted(a, v):
    return mx.searchsorted(a, v)
