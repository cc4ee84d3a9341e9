"""x + alpha times a residual."""

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
    inputs=dict(x=normal("rows", "cols"), residual=normal("rows", "cols")),
    outputs=dict(y=output("rows", "cols")),
    constants=dict(alpha=0.5),
    oracle=lambda x, residual, alpha: x + alpha * residual,
    dtypes=("float32", "float16", "bfloat16"),
    flops="2 * rows * cols",
    baseline="x + alpha * residual",
    torch=lambda torch, x, residual, alpha: torch.add(x, residual, alpha=alpha),
)
def residual_add(x, residual, alpha):
    return x + alpha * residual
