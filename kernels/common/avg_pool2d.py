"""Mean of every 2x2 block, channels last; what is left at an odd end is dropped."""

import mlx.core as mx

from metalbench.task import normal, output, task
from metalbench.task.oracles import split_blocks


@task(
    sizes=dict(
        small=dict(batch=2, height=8, width=8, channels=16),
        odd1=dict(batch=1, height=13, width=9, channels=5),
        odd2=dict(batch=3, height=23, width=37, channels=33),
        seed=dict(batch=8, height=64, width=64, channels=64),
        large=dict(batch=64, height=64, width=64, channels=64),
        huge=dict(batch=512, height=64, width=64, channels=64),
    ),
    gpu_headlines=("large", "huge"),
    inputs=dict(x=normal("batch", "height", "width", "channels")),
    outputs=dict(y=output("batch", "height / 2", "width / 2", "channels")),
    oracle=lambda x: split_blocks(x).mean(axis=(2, 4)),
    dtypes=("float32", "float16", "bfloat16"),
    flops="4 * batch * (height / 2) * (width / 2) * channels",
    baseline="reshape and mean",
    torch=lambda torch, x: torch.nn.functional.avg_pool2d(x.movedim(-1, 1), 2).movedim(1, -1),
)
def avg_pool2d(x):
    return mx.mean(split_blocks(x), axis=(2, 4))
