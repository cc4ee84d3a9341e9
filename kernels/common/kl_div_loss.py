"""target (log target - log prediction), elementwise."""

import mlx.core as mx
import numpy as np

from metalbench.task import output, scaled, task, uniform

probabilities = uniform("rows", "cols", low=1e-3, high=1).also(scaled(0.01))


@task(
    sizes=dict(
        small=dict(rows=16, cols=256),
        odd1=dict(rows=37, cols=1023),
        odd2=dict(rows=5, cols=4097),
        seed=dict(rows=1024, cols=1024),
        large=dict(rows=2048, cols=4096),
        huge=dict(rows=16384, cols=4096),
    ),
    gpu_headlines=("large", "huge"),
    inputs=dict(prediction=probabilities, target=probabilities),
    outputs=dict(y=output("rows", "cols")),
    oracle=lambda prediction, target: target * np.log(target / prediction),
    dtypes=("float32", "float16", "bfloat16"),
    flops="4 * rows * cols",
    baseline="t * (mx.log(t) - mx.log(p))",
    torch=lambda torch, prediction, target: torch.nn.functional.kl_div(
        torch.log(prediction), target, reduction="none"
    ),
)
def kl_div_loss(prediction, target):
    return target * (mx.log(target) - mx.log(prediction))
