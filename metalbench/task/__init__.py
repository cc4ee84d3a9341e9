"""Tasks: the declaration of a problem, its inputs and sizes, and workloads with fixed seeds."""

from metalbench.task.declaration import Task, task
from metalbench.task.inputs import (
    Array,
    Input,
    coarse,
    derive,
    distinct,
    even,
    heavy_tailed,
    integers,
    normal,
    output,
    positive,
    scaled,
    shifted,
    sparse,
    tied,
    uniform,
    with_special,
)

__all__ = [
    "Array",
    "Input",
    "Task",
    "coarse",
    "derive",
    "distinct",
    "even",
    "heavy_tailed",
    "integers",
    "normal",
    "output",
    "positive",
    "scaled",
    "shifted",
    "sparse",
    "task",
    "tied",
    "uniform",
    "with_special",
]
