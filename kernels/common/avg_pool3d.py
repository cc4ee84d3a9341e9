"""Mean of every 2x2x2 block, channels last; what is left at an odd end is dropped."""

import mlx.core as mx

from metalbench.task import normal, output, task
from metalbench.task.oracles import split_blocks


@task(
    sizes=dict(
        small=dict(batch=2, depth=6, height=8, width=8, channels=8),
        odd1=dict(batch=1, depth=5, height=7, width=9, channels=5),
        odd2=dict(batch=2, depth=9, height=5, width=11, channels=33),
        seed=dict(batch=4, depth=32, height=32, width=32, channels=32),
        large=dict(batch=16, depth=32, height=32, width=32, channels=32),
        huge=dict(batch=128, depth=32, height=32, width=32, channels=32),
    ),
    gpu_headlines=("large", "huge"),
    inputs=dict(x=normal("batch", "depth", "height", "width", "channels")),
    outputs=dict(y=output("batch", "depth / 2", "height / 2", "width / 2", "channels")),
    oracle=lambda x: split_blocks(x).mean(axis=(2, 4, 6)),
    dtypes=("float32", "float16", "bfloat16"),
    flops="8 * batch * (depth / 2) * (height / 2) * (width / 2) * channels",
    baseline="reshape and mean",
    torch=lambda torch, x: torch.nn.functional.avg_pool3d(x.movedim(-1, 1), 2).movedim(1, -1),
)
def avg_pool3d(x):
    return mx.mean(split_blocks(x), axis=(2, 4, 6))
