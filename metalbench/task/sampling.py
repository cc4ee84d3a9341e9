"""Sample tokens of rows of logits as language models do: inputs, oracle and reference of tasks.

The order is that of Hugging Face's processors: penalty, temperature, top-k, top-p, min-p.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import mlx.core as mx
import numpy as np

from metalbench.task import threefry
from metalbench.task.declaration import Task, task
from metalbench.task.inputs import Input, coarse, integers, normal, output, sparse

Array = np.ndarray[Any, Any]


def penalise(x: Array, seen: Array, penalty: float) -> Array:
    """Return logits of which those of seen tokens are less likely, once each."""
    y = x.copy()
    for row, ids in zip(y, seen.astype(np.int64), strict=True):
        once = np.unique(ids)
        row[once] = np.where(row[once] > 0, row[once] / penalty, row[once] * penalty)
    return y


def keep_likely(x: Array, count: int, p: float, least: float) -> Array:
    """Return logits of which those that top-k, top-p and min-p leave out are -inf."""
    descending = -np.sort(-x, axis=-1)
    cut = descending[:, count - 1 if count else -1, None]
    masses = np.where(descending >= cut, np.exp(descending - descending[:, :1]), 0.0)
    before = np.cumsum(masses, axis=-1) - masses
    stay = (descending >= cut) & (before < p * masses.sum(axis=-1, keepdims=True))
    cut = np.min(np.where(stay, descending, np.inf), axis=-1, keepdims=True)
    if least > 0:
        cut = np.maximum(cut, descending[:, :1] + math.log(least))
    return np.where(x >= cut, x, -np.inf)


SIZES = dict(
    small=dict(rows=8, vocabulary=256),
    odd1=dict(rows=3, vocabulary=1023),
    odd2=dict(rows=5, vocabulary=4097),
    seed=dict(rows=4, vocabulary=32000),
    vocabulary=dict(rows=1, vocabulary=152064),
    large=dict(rows=64, vocabulary=152064),
)


def sampling_inputs() -> Mapping[str, Input]:
    """Return logits, tokens that were there before, and a key of random numbers."""
    return dict(
        logits=normal("rows", "vocabulary", deviation=3.0).only(coarse(), sparse()),
        seen=integers("rows", "tokens", high="vocabulary"),
        key=integers(2, high=4294967296),
    )


@dataclass(frozen=True)
class SamplingRule:
    """The limits of what is drawn: a `count` of 0, `p` of 1 and `least` of 0 leave nothing out."""

    penalty: float
    temperature: float
    count: int
    p: float
    least: float


def sample_exactly(logits: Array, seen: Array, key: Array, rule: SamplingRule) -> Array:
    """Return a token of every row: (rows), uint32."""
    x = penalise(logits, seen, rule.penalty) / rule.temperature
    likely = keep_likely(x, rule.count, rule.p, rule.least)
    gumbel = threefry.gumbel(key, logits.size).reshape(logits.shape)
    return np.asarray(np.argmax(likely + gumbel, axis=-1), np.uint32)


def sample_with_mlx(logits: Any, seen: Any, key: Any, rule: SamplingRule) -> Any:
    """Return the same by MLX, in steps that each go through all logits."""
    x = logits.astype(mx.float32)
    old = mx.take_along_axis(x, seen, axis=-1)
    less = mx.where(old > 0, old / rule.penalty, old * rule.penalty)
    x = mx.put_along_axis(x, seen, less, axis=-1) / rule.temperature
    descending = -mx.sort(-x, axis=-1)
    if rule.count:
        least = descending[:, rule.count - 1, None]
        x = mx.where(x >= least, x, -math.inf)
        descending = mx.where(descending >= least, descending, -math.inf)
    masses = mx.softmax(descending, axis=-1, precise=True)
    before = mx.cumsum(masses, axis=-1, inclusive=False)
    cut = mx.min(mx.where(before < rule.p, descending, math.inf), axis=-1, keepdims=True)
    if rule.least > 0:
        cut = mx.maximum(cut, descending[:, :1] + math.log(rule.least))
    return mx.random.categorical(mx.where(x >= cut, x, -math.inf), key=key)


def sampling_task(name: str, **constants: float) -> Task:
    """Return the task of a token of every row of logits; `constants` are those of SamplingRule.

    `tokens` is the number of tokens that a penalty may be for.
    """

    def reference(  # noqa: PLR0917
        logits: Any,
        seen: Any,
        key: Any,
        tokens: int,
        penalty: float,
        temperature: float,
        count: int,
        p: float,
        least: float,
    ) -> Any:
        rule = SamplingRule(penalty, temperature, count, p, least)
        return sample_with_mlx(logits, seen, key, rule)

    reference.__name__ = name
    return task(
        sizes=SIZES,
        gpu_headlines=("large",),
        inputs=sampling_inputs(),
        outputs=dict(y=output("rows", dtype="uint32")),
        constants=constants,
        oracle=lambda logits, seen, key, tokens, penalty, temperature, count, p, least: (
            sample_exactly(logits, seen, key, SamplingRule(penalty, temperature, count, p, least))
        ),
        dtypes=("float32", "float16", "bfloat16"),
        flops="10 * rows * vocabulary",
        baseline="mx.sort, mx.softmax, mx.cumsum, mx.random.categorical",
    )(reference)
