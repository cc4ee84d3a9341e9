"""Mean of every three neighbours, two apart, channels last."""

import numpy as np

from metalbench.task import normal, output, task


@task(
    sizes=dict(
        small=dict(batch=2, width=40, channels=16),
        odd1=dict(batch=1, width=37, channels=5),
        odd2=dict(batch=3, width=129, channels=33),
        seed=dict(batch=8, width=256, channels=64),
        large=dict(batch=512, width=512, channels=64),
        huge=dict(batch=4096, width=512, channels=64),
    ),
    gpu_headlines=("large", "huge"),
    inputs=dict(x=normal("batch", "width", "channels")),
    outputs=dict(y=output("batch", "(width - 3) / 2 + 1", "channels")),
    oracle=lambda x: np.lib.stride_tricks.sliding_window_view(x, 3, axis=1)[:, ::2].mean(axis=-1),
    dtypes=("float32", "float16", "bfloat16"),
    flops="3 * batch * ((width - 3) / 2 + 1) * channels",
    baseline="mean of three strided views",
    torch=lambda torch, x: torch.nn.functional.avg_pool1d(x.mT, 3, 2).mT,
)
def avg_pool1d(x):
    count = (x.shape[1] - 3) // 2 + 1
    first, second, third = (x[:, i : i + 2 * count - 1 : 2] for i in range(3))
    return (first + second + third) / 3
