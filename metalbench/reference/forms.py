"""The forms in which MLX can be asked for the same: as it is written, compiled, and its own."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import mlx.core as mx

from metalbench.custom_kernel.transformations import compiling
from metalbench.reference import compiler
from metalbench.task import Task
from metalbench.task.declaration import ExternalReference


@dataclass(frozen=True)
class Form:
    """One way to compute the reference: `function` takes the inputs by name.

    `kind` is "eager", "compiled", "fast" or "apart", as a task's `against` calls them; what is
    `apart` is no function of MLX's arrays.
    """

    kind: str
    name: str
    function: Callable[..., Any]
    apart: ExternalReference | None = None


def _on_one_element(**inputs: mx.array) -> mx.array:
    first = next(iter(inputs.values()))
    element = first[(slice(1),) * first.ndim]
    return mx.maximum(element, element)


# No form of a task's reference: as little as MLX can be asked for with the same inputs.
ON_ONE_ELEMENT = Form("one element", "an operation on one element", _on_one_element)


# How MLX's drawings of graphs name an operation.
_OPERATION = re.compile(r'label ?="([^"]*)", shape=rectangle')


def operations_of(form: Form, inputs: Mapping[str, mx.array]) -> list[str]:
    """The operations of MLX's graph of `form`, in order; none is carried out."""
    results = form.function(**inputs)
    drawn = io.StringIO()
    mx.export_to_dot(drawn, *(results if isinstance(results, (tuple, list)) else [results]))
    return _OPERATION.findall(drawn.getvalue())


def forms_of(task: Task) -> tuple[Form, ...]:
    """All forms of a task's reference, the eager one first."""
    forms = [
        Form("eager", task.baseline, partial(task.reference, **task.constants)),
        Form("compiled", f"mx.compile: {task.baseline}", _compiled(task)),
    ]
    if task.fast is not None:
        forms.append(Form("fast", "mx.fast", partial(task.fast, **task.constants)))
    if task.apart is not None:
        forms.append(Form("apart", task.apart.name, task.reference, task.apart))
    return tuple(forms)


def _compiled(task: Task) -> Callable[..., Any]:
    """Constants are part of the graph, as they are for whoever writes it down."""
    names = list(task.inputs)

    def positional(*arrays: mx.array) -> Any:
        return task.reference(**dict(zip(names, arrays, strict=True)), **task.constants)

    compiled = mx.compile(positional)

    def by_name(**arrays: mx.array) -> Any:
        compiler.check()
        # What is measured is compiled, also in a process that has asked for patch_mlx.
        with compiling():
            return compiled(*(arrays[name] for name in names))

    return by_name
