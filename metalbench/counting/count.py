"""Run a kernel once in a counted build."""

from __future__ import annotations

from collections.abc import Mapping

from metalbench import _core
from metalbench.counting.dispatch import DispatchCounts, read_dispatch_counts
from metalbench.kernel import Kernel
from metalbench.kernel.prepare import Bound, Compiled, compile_kernel
from metalbench.task import Task
from metalbench.task.workload import workload

TIME_LIMIT = 120.0


def count_kernel(
    device: _core.Device,
    kernel: Kernel,
    task: Task,
    *,
    size: str,
    dtype_name: str = "float32",
    tunables: Mapping[str, int] | None = None,
    seed: int = 0,
    time_limit: float = TIME_LIMIT,
) -> list[DispatchCounts]:
    """Return the counts of each dispatch of a kernel at a size, in order.

    Devices without counted builds use the `cpu` device. Raises CompileError and the device's
    errors.
    """
    compiled = compile_kernel(
        device, kernel, task, dtype_name=dtype_name, tunables=tunables, counted=True
    )
    bound = compiled.bind(workload(task, size, dtype_name=dtype_name, seed=seed))
    compiled.device.run(bound.dispatches, time_limit=time_limit)
    return read_counts(compiled, bound)


def read_counts(compiled: Compiled, bound: Bound) -> list[DispatchCounts]:
    """Return the counts of the last run of a bound kernel."""
    return [
        read_dispatch_counts(geometry, buffer, _constants(compiled.pipelines[geometry.function]))
        for geometry, buffer in zip(bound.geometry, bound.counts, strict=True)
    ]


def _constants(pipeline: _core.Pipeline) -> set[int]:
    """Return the indices of constant buffers among a pipeline's buffers, in order of arguments."""
    buffers = [each for each in pipeline.arguments if each.kind == "buffer"]
    return {i for i, each in enumerate(buffers) if each.address_space == "constant"}
