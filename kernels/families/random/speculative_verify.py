"""Proposed tokens accepted by their odds, and the token behind them: speculative sampling."""

from dataclasses import replace

import mlx.core as mx
import numpy as np

from metalbench.task import coarse, integers, normal, output, sparse, task, threefry, uniform
from metalbench.task.dtypes import dtype
from metalbench.task.families import FLOATING

ROWS = ("texts", "drafted", "vocabulary")


def odds(x):
    """Softmax."""
    shares = np.exp(x - x.max(axis=-1, keepdims=True))
    return shares / shares.sum(axis=-1, keepdims=True)


def verified(target, draft, proposed, uniform, key):
    """Text by text: how many are accepted, and a token of what is left."""
    p, q = odds(target), odds(draft)
    texts, drafted, vocabulary = draft.shape
    gumbel = threefry.gumbel(key, texts * vocabulary).reshape(texts, vocabulary)
    accepted, token = np.zeros(texts, np.uint32), np.zeros(texts, np.uint32)
    for t in range(texts):
        n = 0
        while (
            n < drafted
            and uniform[t, n] * q[t, n, int(proposed[t, n])] < p[t, n, int(proposed[t, n])]
        ):
            n += 1
        residual = p[t, n] - (q[t, n] if n < drafted else 0)
        with np.errstate(divide="ignore"):
            accepted[t], token[t] = n, np.argmax(np.log(np.maximum(residual, 0)) + gumbel[t])
    return accepted, token


@task(
    sizes=dict(
        small=dict(texts=8, drafted=3, vocabulary=256),
        odd1=dict(texts=3, drafted=5, vocabulary=1023),
        odd2=dict(texts=5, drafted=1, vocabulary=4097),
        seed=dict(texts=4, drafted=4, vocabulary=32000),
        large=dict(texts=32, drafted=4, vocabulary=152064),
    ),
    gpu_headlines=("large",),
    inputs=dict(
        target=normal("texts", "drafted + 1", "vocabulary").only(coarse(), sparse()),
        draft=normal(*ROWS).only(coarse(), sparse()),
        proposed=integers("texts", "drafted", high="vocabulary"),
        uniform=replace(uniform("texts", "drafted"), dtype=dtype("float32")),
        key=integers(2, high=4294967296),
    ),
    outputs=dict(accepted=output("texts", dtype="uint32"), token=output("texts", dtype="uint32")),
    oracle=verified,
    dtypes=FLOATING,
    flops="6 * texts * (2 * drafted + 1) * vocabulary",
    bytes="itemsize * texts * (2 * drafted + 1) * vocabulary",
    baseline="mx.softmax, mx.cumprod, mx.random.categorical",
)
def speculative_verify(target, draft, proposed, uniform, key):
    p = mx.softmax(target.astype(mx.float32), axis=-1)
    q = mx.softmax(draft.astype(mx.float32), axis=-1)
    own = proposed[..., None]
    of_p, of_q = (mx.take_along_axis(each, own, axis=-1)[..., 0] for each in (p[:, :-1], q))
    accepted = mx.cumprod((uniform * of_q < of_p).astype(mx.uint32), axis=-1).sum(axis=-1)
    q = mx.concatenate([q, mx.zeros_like(q[:, :1])], axis=1)
    residual = mx.take_along_axis(mx.maximum(p - q, 0), accepted[:, None, None], axis=1)[:, 0]
    return accepted.astype(mx.uint32), mx.random.categorical(mx.log(residual), key=key)
