"""Rows of a table, chosen by index."""

import mlx.core as mx
import numpy as np

from metalbench.task import integers, normal, output, task


@task(
    sizes=dict(
        small=dict(tokens=64, vocabulary=128, dims=32),
        odd1=dict(tokens=37, vocabulary=101, dims=33),
        odd2=dict(tokens=129, vocabulary=67, dims=10),
        seed=dict(tokens=1024, vocabulary=4096, dims=128),
        large=dict(tokens=32768, vocabulary=16384, dims=512),
        huge=dict(tokens=163840, vocabulary=16384, dims=512),
    ),
    gpu_headlines=("large", "huge"),
    inputs=dict(token=integers("tokens", high="vocabulary"), table=normal("vocabulary", "dims")),
    outputs=dict(y=output("tokens", "dims")),
    oracle=lambda token, table: table[token.astype(np.int64)],
    dtypes=("float32", "float16", "bfloat16"),
    flops="0",
    bytes="tokens * (4 + 2 * dims * itemsize)",
    baseline="mx.take",
    torch=lambda torch, token, table: torch.nn.functional.embedding(token, table),
)
def embedding(token, table):
    return mx.take(table, token, axis=0)
