"""Declare elementwise tasks on one matrix or several."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from metalbench.task.declaration import Task, task
from metalbench.task.inputs import Input, normal, output
from metalbench.task.matrices import ELEMENTS, FLOATING


def elementwise(
    name: str,
    reference: Callable[..., Any],
    oracle: Callable[..., Any],
    *,
    baseline: str,
    flops: int = 4,
    scale: Callable[..., Any] | None = None,
    **inputs: Input,
) -> Task:
    """Return the elementwise task `name` of the `inputs`, (rows, cols) each; by default `x`.

    `flops` are those of one element.
    """
    reference.__name__ = name
    return task(
        sizes=ELEMENTS,
        gpu_headlines=("large",),
        inputs=inputs or {"x": normal("rows", "cols")},
        outputs={"y": output("rows", "cols")},
        oracle=oracle,
        scale=scale,
        dtypes=FLOATING,
        flops=f"{flops} * rows * cols",
        baseline=baseline,
    )(reference)
