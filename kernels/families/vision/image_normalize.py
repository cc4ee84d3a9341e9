"""Pixels of eight bits as floats, each channel with a mean and a deviation of its own."""

import numpy as np

from metalbench.task import integers, normal, output, task, uniform


@task(
    sizes=dict(
        small=dict(pixels=64, channels=3),
        odd1=dict(pixels=1023, channels=4),
        odd2=dict(pixels=517, channels=1),
        seed=dict(pixels=262144, channels=3),
        large=dict(pixels=16777216, channels=3),
    ),
    gpu_headline="large",
    inputs=dict(
        x=integers("pixels", "channels", high=256, dtype="uint8"),
        mean=normal("channels", mean=0.5, deviation=0.1).only(),
        deviation=uniform("channels", low=0.2, high=0.3),
    ),
    outputs=dict(y=output("pixels", "channels")),
    oracle=lambda x, mean, deviation: (x / 255.0 - mean) / deviation,
    scale=lambda x, mean, deviation: (x / np.float32(255) + np.abs(mean)) / deviation,
    dtypes=("float32", "float16", "bfloat16"),
    flops="3 * pixels * channels",
    baseline="(x / 255 - mean) / deviation",
)
def image_normalize(x, mean, deviation):
    return (x.astype(mean.dtype) / 255 - mean) / deviation
