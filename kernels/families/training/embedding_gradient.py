"""Gradient of an embedding's table: the gradients of equal tokens, added up."""

from dataclasses import replace

import mlx.core as mx
import numpy as np

from metalbench.task import integers, normal, output, task


def add_rows(token, dy, vocabulary):
    """Sums of the rows of each token, (vocabulary, dims)."""
    found = np.zeros_like(dy, shape=(vocabulary, dy.shape[1]), order="C")
    np.add.at(found, token.astype(np.int64), dy)
    return found


def draw_tokens(random, shape, values):
    """Tokens of which some are frequent and many are not there, as in a text."""
    return (values["vocabulary"] * random.random(shape) ** 3).astype(np.uint32)


@task(
    sizes=dict(
        small=dict(tokens=64, dims=32),
        odd1=dict(tokens=37, dims=33),
        odd2=dict(tokens=1029, dims=10),
        seed=dict(tokens=2048, dims=128),
        large=dict(tokens=65536, dims=1024),
    ),
    gpu_headlines=("large",),
    inputs=dict(
        token=replace(integers("tokens", high="vocabulary"), draw=draw_tokens),
        dy=normal("tokens", "dims"),
    ),
    outputs=dict(dtable=output("vocabulary", "dims")),
    constants=dict(vocabulary=997),
    oracle=add_rows,
    scale=lambda token, dy, vocabulary: add_rows(token, np.abs(dy), vocabulary),
    dtypes=("float32", "float16", "bfloat16"),
    flops="tokens * dims",
    bytes="tokens * 4 + (tokens + vocabulary) * dims * itemsize",
    baseline="mx.vjp of mx.take",
)
def embedding_gradient(token, dy, vocabulary):
    table = mx.zeros((vocabulary, dy.shape[1]), dy.dtype)
    return mx.vjp(lambda table: mx.take(table, token, axis=0), [table], [dy])[1][0]
