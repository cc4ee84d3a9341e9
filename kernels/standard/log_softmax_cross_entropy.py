"""Cross entropy of every row of logits against a distribution."""

from dataclasses import replace

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task
from metalbench.task.oracles import log_softmax


def distributions(random, shape, _):
    """Rows of positive numbers that sum to 1, a few of them large."""
    weights = random.standard_exponential(shape, dtype=np.float32) ** 3
    return weights / weights.sum(axis=-1, keepdims=True)


target = replace(
    normal("rows", "cols"), distribution="rows that sum to 1", draw=distributions, variations=()
)


def loss_of_rows(logits, target):
    """The expected value of minus the log probability."""
    return -(target * log_softmax(logits, axis=-1)).sum(axis=-1)


@task(
    sizes=dict(
        small=dict(rows=16, cols=256),
        odd1=dict(rows=37, cols=1023),
        odd2=dict(rows=5, cols=4097),
        seed=dict(rows=1024, cols=1024),
        vocabulary=dict(rows=1, cols=152064),
        large=dict(rows=2048, cols=4096),
        huge=dict(rows=18432, cols=4096),
    ),
    gpu_headlines=("large", "huge"),
    inputs=dict(logits=normal("rows", "cols"), target=target),
    outputs=dict(loss=output("rows")),
    oracle=loss_of_rows,
    dtypes=("float32", "float16", "bfloat16"),
    flops="7 * rows * cols",
    baseline="-mx.sum(t * (x - mx.logsumexp(x)))",
    torch=lambda torch, logits, target: torch.nn.functional.cross_entropy(
        logits, target, reduction="none"
    ),
)
def log_softmax_cross_entropy(logits, target):
    log_probability = logits - mx.logsumexp(logits, axis=-1, keepdims=True)
    return -mx.sum(target * log_probability, axis=-1)
