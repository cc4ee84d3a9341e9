"""One instance of a task: drawn inputs, and what a right kernel makes of them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from metalbench.dtypes import DType, dtype
from metalbench.errors import TaskError
from metalbench.task import Task

Arrays = Mapping[str, np.ndarray[Any, Any]]


@dataclass(frozen=True)
class Workload:
    """The inputs of `task` at one size, element type and seed, always the same ones."""

    task: Task
    size: str
    dtype: DType
    seed: int
    inputs: Arrays

    @cached_property
    def values(self) -> dict[str, int]:
        """Sizes and integer constants by name."""
        return self.task.values(self.size)

    @cached_property
    def output_shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of every output."""
        return {name: each.shape_at(self.values) for name, each in self.task.outputs.items()}

    @property
    def variation(self) -> str:
        """How the inputs differ from the plain distributions: "x shifted by 100", or empty."""
        varied = [(name, each.variation(self.seed)) for name, each in self.task.inputs.items()]
        return ", ".join(f"{name} {each.name}" for name, each in varied if each)

    def widened(self, kind: type[np.floating[Any]]) -> dict[str, Any]:
        """The inputs, floats as `kind` (at least float32), and the constants."""
        wide: dict[str, Any] = {}
        for name, array in self.inputs.items():
            is_float = self.task.inputs[name].type_in(self.dtype).is_float
            wide[name] = array.astype(kind, copy=False) if is_float else array
        return {**wide, **self.task.constants}

    @cached_property
    def expected(self) -> dict[str, np.ndarray[Any, Any]]:
        """The oracle's outputs, float64 or integer; beyond float16's range they are infinite.

        Raises TaskError if the oracle's shapes are not the declared ones.
        """
        results = self._computed("oracle", self.task.oracle, self.widened(np.float64))
        if self.dtype.name == "float16":
            for name, each in results.items():
                if self.task.outputs[name].type_in(self.dtype).name == "float16":
                    overflown = np.where(np.abs(each) >= 65520, np.copysign(np.inf, each), each)
                    results[name] = overflown
        return results

    @cached_property
    def scale(self) -> dict[str, np.ndarray[Any, Any]]:
        """What rounding errors are relative to: the task's `scale`, else the expected magnitude."""
        if self.task.scale is None:
            return self.expected
        return self._computed("scale", self.task.scale, self.widened(np.float32))

    def _computed(
        self, what: str, function: Callable[..., Any], arguments: Mapping[str, Any]
    ) -> dict[str, np.ndarray[Any, Any]]:
        try:
            results = function(**arguments)
        except Exception as error:  # the user's code: whatever it raises is its fault
            cause = f"{type(error).__name__}: {error}"
            where = f"[{self.task.name}] {what} at size {self.size}"
            raise TaskError(
                f"{where}: expected {', '.join(self.task.outputs)}, got {cause}"
            ) from error
        several = results if isinstance(results, tuple) else (results,)
        if len(several) != len(self.task.outputs):
            raise TaskError(
                f"[{self.task.name}] {what}: expected {len(self.task.outputs)} outputs, "
                f"got {len(several)}"
            )
        named = {}
        for (name, shape), each in zip(self.output_shapes.items(), several, strict=True):
            array = np.ascontiguousarray(each)  # compared many times, as flat chunks
            if array.shape != shape:
                raise TaskError(
                    f"[{self.task.name}] {what}: {name} at size {self.size}: "
                    f"expected {shape}, got {array.shape}"
                )
            named[name] = array
        return named


def workload(task: Task, size: str, *, dtype_name: str = "float32", seed: int = 0) -> Workload:
    """Draw the inputs of `task`; the same arguments give the same bits on every machine.

    Raises DeclarationError for an unknown size or an element type that the task lacks.
    """
    task.check_dtype(dtype_name)
    values, run = task.values(size), dtype(dtype_name)
    inputs = {}
    for name, each in task.inputs.items():
        key = f"{task.name}/{name}/{size}/{seed}".encode()
        entropy = int.from_bytes(hashlib.sha256(key).digest(), "little")
        random = np.random.Generator(np.random.Philox(np.random.SeedSequence(entropy)))
        drawn = each.drawn(random, values, seed)
        inputs[name] = drawn.astype(each.type_in(run).numpy, copy=False)
        inputs[name].flags.writeable = False
    return Workload(task, size, run, seed, inputs)
