"""What MLX builds for a task's reference, built before it is asked for."""

from __future__ import annotations

from metalbench.reference.chain import create_reference
from metalbench.task import Task
from metalbench.task.workload import workload


def build_forms(task: Task, dtype_name: str, *, kind: str) -> None:
    """Run the compiled form of `task`'s reference beside a device of that kind, where it has one.

    MLX keeps what it builds for it, by the operations and not by the size, and on a processor that
    is a run of a C++ compiler: a second or more. So the smallest size is enough. Raises what the
    task's own code does.
    """
    smallest = next(iter(task.sizes))
    reference, _ = create_reference(kind, workload(task, smallest, dtype_name=dtype_name))
    if reference is None:
        return
    for form in reference.forms:
        if form.kind == "compiled":
            reference.outputs_of(form)
