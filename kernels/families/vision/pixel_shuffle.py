"""Channels become pixels: every pixel a square of 2 x 2, as super-resolution ends."""

from metalbench.task import normal, output, task


def shuffled(x, side):
    """Channel (c side + i) side + j becomes channel c of the pixel at row i, column j."""
    batch, height, width, channels = x.shape
    cut = x.reshape(batch, height, width, channels // side // side, side, side)
    wide = cut.transpose(0, 1, 4, 2, 5, 3)
    return wide.reshape(batch, height * side, width * side, channels // side // side)


@task(
    sizes=dict(
        small=dict(batch=1, height=4, width=6, channels=4),
        odd1=dict(batch=2, height=3, width=7, channels=5),
        odd2=dict(batch=1, height=13, width=1, channels=33),
        seed=dict(batch=2, height=64, width=64, channels=16),
        large=dict(batch=16, height=256, width=256, channels=16),
    ),
    gpu_headlines=("large",),
    inputs=dict(x=normal("batch", "height", "width", "channels * side * side")),
    outputs=dict(y=output("batch", "height * side", "width * side", "channels")),
    constants=dict(side=2),
    oracle=shuffled,
    dtypes=("float32", "float16", "bfloat16"),
    flops="0",
    baseline="reshape, transpose",
)
def pixel_shuffle(x, side):
    return shuffled(x, side)
