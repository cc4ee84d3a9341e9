"""A matrix times a number."""

from metalbench.task import normal, output, task


@task(
    sizes=dict(
        small=dict(rows=16, cols=256),
        odd1=dict(rows=37, cols=1023),
        odd2=dict(rows=5, cols=4097),
        seed=dict(rows=1024, cols=1024),
        large=dict(rows=2048, cols=4096),
        huge=dict(rows=18432, cols=4096),
    ),
    gpu_headlines=("large", "huge"),
    inputs=dict(x=normal("rows", "cols")),
    outputs=dict(y=output("rows", "cols")),
    constants=dict(factor=2.5),
    oracle=lambda x, factor: factor * x,
    dtypes=("float32", "float16", "bfloat16"),
    flops="rows * cols",
    baseline="factor * x",
    torch=lambda torch, x, factor: factor * x,
)
def matrix_scale(x, factor):
    return factor * x
