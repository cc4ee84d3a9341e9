"""Multiply-adds in registers: as many operations per second as a device does for a plain kernel."""

from typing import Any

from metalbench.task import normal, output, task

STEPS = 256


def compute_expected(x: Any) -> Any:  # noqa: D103
    for _ in range(STEPS):
        x = 0.5 * x + 0.25
    return x


@task(
    sizes=dict(small=dict(n=1000), odd1=dict(n=77), seed=dict(n=1 << 17), gpu=dict(n=1 << 22)),
    headline="seed",
    gpu_headlines=("gpu",),
    inputs=dict(x=normal("n")),
    outputs=dict(y=output("n")),
    oracle=compute_expected,
    flops=f"{2 * STEPS} * n",
)
def arithmetic_roof(x: Any) -> Any:  # noqa: D103
    for _ in range(STEPS):
        x = 0.5 * x + 0.25
    return x
