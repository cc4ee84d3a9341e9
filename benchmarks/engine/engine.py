"""The cpu device as a contestant."""

from __future__ import annotations

from benchmarks.engine.case import Arrays, Case, Step
from metalbench import _core


def dispatches(device: _core.Device, case: Case, arrays: Arrays) -> list[_core.Dispatch]:
    """Return the case's launches, over the memory of `arrays`."""
    library = device.compile(case.source(case.metal), filename=case.metal, macros=dict(case.macros))
    pipelines = {step.kernel: library.pipeline(step.kernel) for step in case.steps}
    buffers = {name: device.buffer(array) for name, array in arrays.items()}

    def dispatch(step: Step) -> _core.Dispatch:
        parameters = {
            name: buffers[value] if isinstance(value, str) else value
            for name, value in step.parameters.items()
        }
        return _core.Dispatch(
            pipelines[step.kernel], parameters, threads_in_grid=step.grid, threads=step.threads
        )

    return [dispatch(step) for step in case.steps]
