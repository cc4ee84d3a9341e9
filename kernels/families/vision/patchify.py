"""Images cut into square patches, each a row: what a vision transformer begins with."""

from metalbench.task import normal, output, task


def patches(x, side):
    """Rows of one patch each, in the order of the image."""
    batch, height, width, channels = x.shape
    cut = x.reshape(batch, height // side, side, width // side, side, channels)
    return cut.transpose(0, 1, 3, 2, 4, 5).reshape(-1, side * side * channels)


@task(
    sizes=dict(
        small=dict(batch=1, height=16, width=24, channels=3),
        odd1=dict(batch=3, height=40, width=8, channels=5),
        odd2=dict(batch=2, height=8, width=56, channels=4),
        seed=dict(batch=8, height=224, width=224, channels=3),
        large=dict(batch=64, height=448, width=448, channels=3),
    ),
    gpu_headlines=("large",),
    inputs=dict(x=normal("batch", "height", "width", "channels")),
    outputs=dict(y=output("batch * (height / side) * (width / side)", "side * side * channels")),
    constants=dict(side=8),
    multiples=dict(height=8, width=8),
    oracle=patches,
    dtypes=("float32", "float16", "bfloat16"),
    flops="0",
    baseline="reshape, transpose",
)
def patchify(x, side):
    return patches(x, side)
