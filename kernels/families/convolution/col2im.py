"""Images of 3 x 3 patches that overlap: a pixel is the sum of what patches have of it."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task


def folded(x):
    """Sums over the nine places that a pixel has in patches."""
    batch, high, wide, depth = x.shape
    patches = x.reshape(batch, high, wide, 3, 3, depth // 9)
    y = np.zeros_like(x, shape=(batch, high + 2, wide + 2, depth // 9), order="C")
    for i, j in np.ndindex(3, 3):
        y[:, i : i + high, j : j + wide] += patches[:, :, :, i, j]
    return y


@task(
    sizes=dict(
        small=dict(batch=1, height=6, width=7, channels=4),
        odd1=dict(batch=2, height=3, width=9, channels=5),
        odd2=dict(batch=1, height=13, width=3, channels=33),
        seed=dict(batch=1, height=64, width=64, channels=32),
        large=dict(batch=4, height=224, width=224, channels=64),
    ),
    gpu_headlines=("large",),
    inputs=dict(x=normal("batch", "height - 2", "width - 2", "9 * channels")),
    outputs=dict(y=output("batch", "height", "width", "channels")),
    draw=lambda random: dict(
        batch=int(random.integers(1, 3)),
        height=int(random.integers(3, 40)),
        width=int(random.integers(3, 40)),
        channels=int(random.integers(1, 40)),
    ),
    oracle=folded,
    scale=lambda x: folded(np.abs(x)),
    dtypes=("float32", "float16", "bfloat16"),
    flops="9 * batch * (height - 2) * (width - 2) * channels",
    baseline="sum of nine mx.pad",
)
def col2im(x):
    batch, high, wide, depth = x.shape
    patches = x.reshape(batch, high, wide, 3, 3, depth // 9)
    return sum(
        mx.pad(patches[:, :, :, i, j], [(0, 0), (i, 2 - i), (j, 2 - j), (0, 0)])
        for i in range(3)
        for j in range(3)
    )
