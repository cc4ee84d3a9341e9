"""Proposed tokens accepted while they are the most likely ones, and the token behind them."""

import mlx.core as mx
import numpy as np

from metalbench.expression import parse
from metalbench.task import Input, integers, output, task
from metalbench.task.families import FLOATING


def with_a_likely_one(random, shape, _):
    """Normal logits, of which one of the first two of each row is the largest."""
    logits = random.standard_normal(shape, np.float32)
    first = random.integers(0, 2, shape[:-1])
    logits[..., :2] += 12 * (first[..., None] == np.arange(2))
    return logits


LOGITS = Input(
    tuple(map(parse, ("texts", "drafted + 1", "vocabulary"))),
    None,
    "normal, one of the first two larger by 12",
    with_a_likely_one,
)


def verified(target, proposed):
    """Text by text."""
    best = target.argmax(axis=-1)
    same = best[:, :-1] == proposed
    accepted = np.cumprod(same, axis=-1).sum(axis=-1)
    token = np.take_along_axis(best, accepted[:, None], axis=-1)[:, 0]
    return accepted.astype(np.uint32), token.astype(np.uint32)


@task(
    sizes=dict(
        small=dict(texts=8, drafted=3, vocabulary=256),
        odd1=dict(texts=33, drafted=5, vocabulary=1023),
        odd2=dict(texts=5, drafted=1, vocabulary=4097),
        seed=dict(texts=8, drafted=4, vocabulary=32000),
        large=dict(texts=64, drafted=4, vocabulary=152064),
    ),
    gpu_headlines=("large",),
    # Proposals are of two tokens, one of which is the most likely: half of them are accepted.
    inputs=dict(target=LOGITS, proposed=integers("texts", "drafted", high=2)),
    outputs=dict(accepted=output("texts", dtype="uint32"), token=output("texts", dtype="uint32")),
    oracle=verified,
    dtypes=FLOATING,
    flops="texts * (drafted + 1) * vocabulary",
    baseline="mx.argmax, mx.cumprod",
)
def speculative_greedy(target, proposed):
    best = mx.argmax(target, axis=-1)
    same = (best[:, :-1] == proposed).astype(mx.uint32)
    accepted = mx.cumprod(same, axis=-1).sum(axis=-1).astype(mx.uint32)
    return accepted, mx.take_along_axis(best, accepted[:, None], axis=-1)[:, 0]
