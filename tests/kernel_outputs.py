"""Outputs of a kernel of the library for inputs of a test, on the `cpu` device."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from metalbench import _core
from metalbench.kernel.library import Library
from metalbench.kernel.prepare import compile_kernel
from metalbench.task.workload import workload

LIBRARY = Library()
Array = np.ndarray[Any, Any]


def compute(
    name: str,
    size: str = "odd1",
    seed: int = 0,
    constants: Mapping[str, float] | None = None,
    dtype: str = "float32",
    **inputs: Array,
) -> tuple[dict[str, Array], dict[str, Array]]:
    """Return the inputs and outputs of a kernel by name.

    `inputs` replace those that the task draws for `size` and `seed`, and have their shapes and
    types. `constants` replace those of the task.
    """
    entry = LIBRARY.entry(name)
    task = replace(entry.task, constants={**entry.task.constants, **(constants or {})})
    device = _core.open("cpu")
    work = workload(task, size, seed=seed, dtype_name=dtype)
    for each, values in inputs.items():
        drawn = work.inputs[each]
        assert (values.shape, values.dtype) == (drawn.shape, drawn.dtype), each
    work = replace(work, inputs={**work.inputs, **inputs})
    bound = compile_kernel(device, entry.kernel(device), task, dtype_name=dtype).bind(work)
    bound.poison()
    device.run(bound.dispatches)
    return dict(work.inputs), {each: bound.read(each) for each in bound.outputs}
