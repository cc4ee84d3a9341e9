"""Pixels of bytes as floats, each channel centred and scaled: what a vision model is given."""

import mlx.core as mx

from metalbench.task import integers, normal, output, task, uniform


def normalised(x, mean, deviation):
    """(x / 255 - mean) / deviation."""
    return (x / 255 - mean) / deviation


@task(
    sizes=dict(
        small=dict(pixels=16, channels=3),
        odd1=dict(pixels=37, channels=5),
        odd2=dict(pixels=333, channels=1),
        seed=dict(pixels=50176, channels=3),
        large=dict(pixels=6422528, channels=3),
    ),
    gpu_headlines=("large",),
    inputs=dict(
        x=integers("pixels", "channels", high=256, dtype="uint8"),
        mean=normal("channels"),
        deviation=uniform("channels", low=0.2, high=0.3),
    ),
    outputs=dict(y=output("pixels", "channels")),
    oracle=normalised,
    scale=lambda x, mean, deviation: (x / 255 + abs(mean)) / abs(deviation),
    dtypes=("float32", "float16", "bfloat16"),
    flops="3 * pixels * channels",
    baseline="(x / 255 - mean) / deviation",
)
def image_normalize(x, mean, deviation):
    wide = (each.astype(mx.float32) for each in (x, mean, deviation))
    return normalised(*wide).astype(mean.dtype)
