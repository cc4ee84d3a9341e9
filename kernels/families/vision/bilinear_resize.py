"""Images at another size, between pixels by distance, measured from corners."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task


def places(count, wanted):
    """Of each output the two pixels around it, and the share of the second."""
    twice = np.clip((2 * np.arange(wanted) + 1) * count - wanted, 0, None)
    first = np.minimum(twice // (2 * wanted), count - 1)
    share = (twice - first * 2 * wanted) / (2 * wanted)
    return first, np.minimum(first + 1, count - 1), share


def resized(x, shape):
    """Rows first, then columns; past the last pixel it goes on."""
    for axis, wanted in ((1, shape[0]), (2, shape[1])):
        first, second, share = places(x.shape[axis], wanted)
        share = share.astype(x.dtype).reshape([-1 if i == axis else 1 for i in range(4)])
        x = np.take(x, first, axis) * (1 - share) + np.take(x, second, axis) * share
    return x


@task(
    sizes=dict(
        small=dict(batch=1, height=4, width=6, channels=3),
        odd1=dict(batch=2, height=7, width=5, channels=5),
        odd2=dict(batch=1, height=13, width=1, channels=33),
        seed=dict(batch=2, height=64, width=64, channels=16),
        large=dict(batch=16, height=256, width=256, channels=32),
    ),
    gpu_headlines=("large",),
    inputs=dict(x=normal("batch", "height", "width", "channels")),
    outputs=dict(y=output("batch", "3 * height / 2", "3 * width / 2 + 1", "channels")),
    oracle=lambda x: resized(x, (3 * x.shape[1] // 2, 3 * x.shape[2] // 2 + 1)),
    scale=lambda x: resized(np.abs(x), (3 * x.shape[1] // 2, 3 * x.shape[2] // 2 + 1)),
    dtypes=("float32", "float16", "bfloat16"),
    flops="20 * batch * height * width * channels",
    baseline="mx.take and a mixture along both axes",
)
def bilinear_resize(x):
    y = x.astype(mx.float32)
    for axis, wanted in ((1, 3 * x.shape[1] // 2), (2, 3 * x.shape[2] // 2 + 1)):
        first, second, share = (mx.array(each) for each in places(x.shape[axis], wanted))
        share = share.astype(mx.float32).reshape([-1 if i == axis else 1 for i in range(4)])
        y = mx.take(y, first, axis) * (1 - share) + mx.take(y, second, axis) * share
    return y.astype(x.dtype)
