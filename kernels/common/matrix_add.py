"""Sum of two matrices."""

from metalbench.task import normal, output, task


@task(
    sizes=dict(
        small=dict(rows=16, cols=256),
        odd1=dict(rows=37, cols=1023),
        odd2=dict(rows=5, cols=4097),
        seed=dict(rows=1024, cols=1024),
        large=dict(rows=2048, cols=4096),
        huge=dict(rows=16384, cols=4096),
    ),
    gpu_headlines=("large", "huge"),
    inputs=dict(a=normal("rows", "cols"), b=normal("rows", "cols")),
    outputs=dict(y=output("rows", "cols")),
    oracle=lambda a, b: a + b,
    dtypes=("float32", "float16", "bfloat16"),
    flops="rows * cols",
    baseline="a + b",
    torch=lambda torch, a, b: a + b,
)
def matrix_add(a, b):
    return a + b
