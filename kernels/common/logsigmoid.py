"""log(sigmoid(x)), elementwise."""

import math

import mlx.core as mx
import scipy.special

from metalbench.task import (
    coarse,
    even,
    heavy_tailed,
    normal,
    output,
    shifted,
    sparse,
    task,
    with_special,
)


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
    inputs=dict(
        x=normal("rows", "cols").only(
            shifted(-100),
            shifted(20),
            heavy_tailed(),
            even(),
            coarse(),
            sparse(),
            with_special(math.inf, -math.inf),
        )
    ),
    outputs=dict(y=output("rows", "cols")),
    oracle=lambda x: scipy.special.log_expit(x),
    dtypes=("float32", "float16", "bfloat16"),
    flops="6 * rows * cols",
    baseline="-mx.logaddexp(-x, 0)",
    torch=lambda torch, x: torch.nn.functional.logsigmoid(x),
)
def logsigmoid(x):
    return -mx.logaddexp(-x, 0)
