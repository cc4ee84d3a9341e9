"""Images of bytes as normalised floats: (x / 255 - mean) / deviation of the channel."""

import mlx.core as mx

from metalbench.task import integers, output, task, uniform
from metalbench.task.families import FLOATING


@task(
    sizes=dict(
        small=dict(batch=2, height=8, width=8, channels=3),
        odd1=dict(batch=1, height=7, width=13, channels=3),
        odd2=dict(batch=3, height=5, width=9, channels=1),
        odd3=dict(batch=1, height=11, width=6, channels=7),
        seed=dict(batch=4, height=224, width=224, channels=3),
        large=dict(batch=64, height=224, width=224, channels=3),
    ),
    gpu_headlines=("large",),
    inputs=dict(
        x=integers("batch", "height", "width", "channels", high=256, dtype="uint8"),
        mean=uniform("channels", low=0.3, high=0.6).in_type("float32"),
        deviation=uniform("channels", low=0.2, high=0.4).in_type("float32"),
    ),
    outputs=dict(y=output("batch", "height", "width", "channels")),
    oracle=lambda x, mean, deviation: (x / 255 - mean) / deviation,
    scale=lambda x, mean, deviation: (x / 255 + mean) / deviation,
    dtypes=FLOATING,
    flops="4 * batch * height * width * channels",
    baseline="(x / 255 - mean) / deviation",
)
def normalize_image_uint8(x, mean, deviation):
    return (x.astype(mx.float32) / 255 - mean) / deviation
