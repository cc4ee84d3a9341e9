"""Declare puzzles: a problem with a reference in NumPy, and a target for its accesses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from metalbench.errors import DeclarationError, TaskError, suggestion
from metalbench.kernel import Kernel
from metalbench.task import Array, Input, Task
from metalbench.task.expression import Expression, parse
from metalbench.task.sizes import spell_size

# The counts of the score: each of the thread with the most accesses.
SCORED = ("device_reads", "device_writes", "threadgroup_reads", "threadgroup_writes")


@dataclass(frozen=True)
class Declared:
    """The content of a puzzle's Python file: a task without a name, and the score target."""

    sizes: Sequence[Mapping[str, int]]
    inputs: Mapping[str, Input]
    outputs: Mapping[str, Array]
    target: Mapping[str, Expression]
    reference: Callable[..., Any]

    def task(self, name: str, description: str) -> Task:
        """Return the task for the kernels of this puzzle; the names of its sizes are spelled."""

        def no_mlx(**_: Any) -> NoReturn:
            raise TaskError(f"[{name}] a puzzle is not timed against MLX")

        sizes = {spell_size(each): each for each in self.sizes}
        headline = list(sizes)[-1]
        task = Task(
            name=name,
            description=description,
            sizes=sizes,
            inputs=self.inputs,
            outputs=self.outputs,
            reference=no_mlx,
            oracle=self.reference,
            scale=None,
            constants={},
            dtypes=("float32",),
            headline=headline,
            gpu_headlines=(headline,),
            baseline="",
            flops_expression=parse(0),
        )
        for size in sizes:
            task.check_size(size)
        return task


@dataclass(frozen=True)
class Puzzle:
    """One exercise.

    `statement`, `following` and each of `hints` are Markdown. `skeleton` is the initial kernel;
    every solution keeps its dispatch line. `target` are expressions of the sizes, by the
    names of `SCORED`.
    """

    number: int
    name: str
    title: str
    statement: str
    hints: tuple[str, ...]
    following: str
    skeleton: Kernel
    task: Task
    target: Mapping[str, Expression]

    @property
    def stem(self) -> str:
        """How files of this puzzle are called: `03_guard`."""
        return f"{self.number:02}_{self.name}"

    def target_at(self, size: str) -> dict[str, int]:
        """Return how many accesses of each kind the busiest thread needs at a size."""
        values = self.task.values(size)
        return {name: self.target[name].evaluate(values) for name in SCORED}


def puzzle(
    *,
    sizes: Sequence[Mapping[str, int]],
    inputs: Mapping[str, Input],
    outputs: Mapping[str, Array],
    target: Mapping[str, str | int],
) -> Callable[[Callable[..., Any]], Declared]:
    """Declare the puzzle whose reference is the decorated function of NumPy arrays.

    `target` says how many accesses the busiest thread needs, as expressions of the sizes; kinds
    that it does not name are 0. Raise DeclarationError for a name that is none of `SCORED`.
    """
    for name in target:
        if name not in SCORED:
            raise DeclarationError(f"target: unknown name {name!r}; {suggestion(name, SCORED)}")
    counts = {name: parse(target.get(name, 0)) for name in SCORED}

    def declare(reference: Callable[..., Any]) -> Declared:
        return Declared(sizes, inputs, outputs, counts, reference)

    return declare
