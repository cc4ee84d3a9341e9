"""Let MLX compile a task's reference ahead of time."""

from __future__ import annotations

from metalbench.reference.chain import create_reference
from metalbench.task import Task
from metalbench.task.workload import workload


def build_forms(task: Task, dtype_name: str, *, kind: str) -> None:
    """Run the compiled form of `task`'s reference, if it has one, for devices of that kind.

    MLX caches the build by its operations, not by its size, so the smallest size is enough. On a
    CPU a build runs a C++ compiler, for a second or more. Raises the errors of the task's code.
    """
    smallest = next(iter(task.sizes))
    reference, _ = create_reference(kind, workload(task, smallest, dtype_name=dtype_name))
    if reference is None:
        return
    for form in reference.forms:
        if form.kind == "compiled":
            reference.outputs_of(form)
