"""Elements along the middle axis that indices of the shape of the result name."""

import mlx.core as mx
import numpy as np

from metalbench.task import integers, normal, output, task
from metalbench.task.matrices import FLOATING


@task(
    sizes=dict(
        small=dict(outer=2, along=16, inner=8, picks=5),
        odd1=dict(outer=3, along=37, inner=13, picks=41),
        odd2=dict(outer=1, along=5, inner=33, picks=7),
        seed=dict(outer=64, along=64, inner=64, picks=64),
        large=dict(outer=1024, along=64, inner=64, picks=64),
    ),
    gpu_headline="large",
    inputs=dict(
        x=normal("outer", "along", "inner"), index=integers("outer", "picks", "inner", high="along")
    ),
    outputs=dict(y=output("outer", "picks", "inner")),
    oracle=lambda x, index: np.take_along_axis(x, index.astype(np.int64), axis=1),
    dtypes=FLOATING,
    flops="0",
    baseline="mx.take_along_axis",
)
def take_along_axis(x, index):
    return mx.take_along_axis(x, index, axis=1)
