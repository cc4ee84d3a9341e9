"""Results of the library's kernels for arrays of a test, in place of a task's random ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from metalbench import _core
from metalbench.kernel.library import Library
from metalbench.kernel.prepare import Builds
from metalbench.task.workload import workload

LIBRARY = Library()


def run_kernel(
    name: str, size: str, *, dtype: str = "float32", **inputs: np.ndarray
) -> dict[str, np.ndarray]:
    """Return the outputs by name of the kernel `name` for these inputs, at a size of its task."""
    entry = LIBRARY.entry(name)
    device = _core.open("cpu")
    drawn = workload(entry.task, size, dtype_name=dtype)
    for each, values in drawn.inputs.items():
        assert (inputs[each].shape, inputs[each].dtype) == (values.shape, values.dtype), each
    compiled = Builds(device, entry.kernel(device), entry.task, dtype_name=dtype).plain
    bound = compiled.bind(replace(drawn, inputs=inputs))
    bound.poison()
    device.run(bound.dispatches)
    return {each: np.array(bound.read(each)) for each in entry.task.outputs}
