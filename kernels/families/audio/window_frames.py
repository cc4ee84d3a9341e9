"""A sound cut into overlapping frames, each times the window."""

import mlx.core as mx

from metalbench.task import normal, output, task, uniform
from metalbench.task.families import split_frames


@task(
    sizes=dict(
        small=dict(frames=4),
        odd1=dict(frames=7),
        odd2=dict(frames=37),
        seed=dict(frames=3000),
        large=dict(frames=100000),
    ),
    gpu_headlines=("large",),
    inputs=dict(x=normal("(frames - 1) * hop + length"), window=uniform("length")),
    outputs=dict(y=output("frames", "length")),
    constants=dict(length=400, hop=160),
    oracle=lambda x, window, length, hop: split_frames(x, window, length, hop),
    dtypes=("float32", "float16", "bfloat16"),
    flops="frames * length",
    baseline="mx.as_strided, times",
)
def window_frames(x, window, length, hop):
    count = (x.shape[0] - length) // hop + 1
    return mx.as_strided(x, (count, length), (hop, 1)) * window
