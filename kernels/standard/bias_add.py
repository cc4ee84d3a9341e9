"""A matrix plus a row vector."""

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
    inputs=dict(x=normal("rows", "cols"), bias=normal("cols")),
    outputs=dict(y=output("rows", "cols")),
    oracle=lambda x, bias: x + bias,
    dtypes=("float32", "float16", "bfloat16"),
    flops="rows * cols",
    baseline="x + bias",
    torch=lambda torch, x, bias: x + bias,
)
def bias_add(x, bias):
    return x + bias
