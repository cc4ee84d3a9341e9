"""What is to be solved: a problem's declaration, its inputs and sizes, and work drawn from it."""

from metalbench.task.declaration import Task, task
from metalbench.task.inputs import (
    Array,
    Input,
    distinct,
    integers,
    normal,
    output,
    positive,
    tied,
    uniform,
)
from metalbench.task.variation import (
    coarse,
    even,
    heavy_tailed,
    scaled,
    shifted,
    sparse,
    with_special,
)

__all__ = [
    "Array",
    "Input",
    "Task",
    "coarse",
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
