"""Rotary positions of the first half of every head; the rest stays."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task


def turned(x, part, offset, base):
    """Columns i and i + half of the first `part` of every row are a point; others stay."""
    half = part // 2
    position = offset + np.arange(x.shape[1])
    angle = position[:, None] * float(base) ** (-2 * np.arange(half) / part)
    cosine, sine = np.cos(angle), np.sin(angle)
    first, second, rest = x[..., :half], x[..., half:part], x[..., part:]
    return np.concatenate(
        [first * cosine - second * sine, first * sine + second * cosine, rest], axis=-1
    )


def magnitude(x, part, offset, base):
    """The terms of both coordinates."""
    half = part // 2
    whole = np.abs(x[..., :half]) + np.abs(x[..., half:part])
    return np.concatenate([whole, whole, np.abs(x[..., part:])], axis=-1)


@task(
    sizes=dict(
        small=dict(heads=2, tokens=8, dims=16),
        odd1=dict(heads=3, tokens=37, dims=80),
        odd2=dict(heads=1, tokens=101, dims=36),
        seed=dict(heads=32, tokens=64, dims=128),
        large=dict(heads=32, tokens=4096, dims=128),
    ),
    gpu_headline="large",
    inputs=dict(x=normal("heads", "tokens", "dims")),
    outputs=dict(y=output("heads", "tokens", "dims")),
    constants=dict(base=10000.0, offset=100),
    multiples=dict(dims=4),
    oracle=lambda x, base, offset: turned(x, x.shape[-1] // 2, offset, base),
    scale=lambda x, base, offset: magnitude(x, x.shape[-1] // 2, offset, base),
    dtypes=("float32", "float16", "bfloat16"),
    flops="3 * heads * tokens * (dims / 2)",
    baseline="mx.fast.rope",
)
def rope_partial(x, base, offset):
    return mx.fast.rope(
        x[None], x.shape[-1] // 2, traditional=False, base=base, scale=1.0, offset=offset
    )[0]
