"""A copy: as many bytes per second as a device moves for a plain kernel."""

from typing import Any

from metalbench.task import normal, output, task


@task(
    sizes=dict(small=dict(n=1000), odd1=dict(n=77), seed=dict(n=1 << 22), gpu=dict(n=1 << 26)),
    headline="seed",
    gpu_headlines=("gpu",),
    inputs=dict(x=normal("n")),
    outputs=dict(y=output("n")),
    oracle=lambda x: x,
    flops="n",
)
def copy_roof(x: Any) -> Any:  # noqa: D103
    return x + 0
