"""The forms of a reference: eager, compiled, MLX's fast function, and another library's."""

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

    `kind` is "eager", "compiled", "fast" or "apart", as in a task's `against`. A form of another
    library has `apart` instead of a function of MLX arrays.
    """

    kind: str
    name: str
    function: Callable[..., Any]
    apart: ExternalReference | None = None


def _on_one_element(**inputs: mx.array) -> mx.array:
    first = next(iter(inputs.values()))
    element = first[(slice(1),) * first.ndim]
    return mx.maximum(element, element)


# Not a form of a reference: the least work that MLX can do with the same inputs.
ON_ONE_ELEMENT = Form("one element", "an operation on one element", _on_one_element)


# An operation in MLX's drawing of a graph.
_OPERATION = re.compile(r'label ?="([^"]*)", shape=rectangle')


def operations_of(form: Form, inputs: Mapping[str, mx.array]) -> list[str]:
    """Return the operations of MLX's graph of `form` in order, without running them."""
    results = form.function(**inputs)
    drawn = io.StringIO()
    mx.export_to_dot(drawn, *(results if isinstance(results, (tuple, list)) else [results]))
    return _OPERATION.findall(drawn.getvalue())


def list_forms(task: Task) -> tuple[Form, ...]:
    """Return all forms of a task's reference, the eager one first."""
    forms = [
        Form("eager", task.baseline, partial(task.reference, **task.constants)),
        Form("compiled", f"mx.compile: {task.baseline}", _compile_form(task)),
    ]
    if task.fast is not None:
        forms.append(Form("fast", "mx.fast", partial(task.fast, **task.constants)))
    if task.apart is not None:
        forms.append(Form("apart", task.apart.name, task.reference, task.apart))
    return tuple(forms)


def _compile_form(task: Task) -> Callable[..., Any]:
    """Compile the reference with its constants in the graph, as a user would."""
    names = list(task.inputs)

    def positional(*arrays: mx.array) -> Any:
        return task.reference(**dict(zip(names, arrays, strict=True)), **task.constants)

    compiled = mx.compile(positional)

    def by_name(**arrays: mx.array) -> Any:
        compiler.check()
        # Compile also in a process that uses patch_mlx.
        with compiling():
            return compiled(*(arrays[name] for name in names))

    return by_name
