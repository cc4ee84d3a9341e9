"""GPU traces of kernels, for Xcode."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from metalbench import build_cache
from metalbench.errors import MetalBenchError, Unsupported
from metalbench.kernel.prepare import Compiled, compile_kernel
from metalbench.msl.toolchain.clang import find_toolchain
from metalbench.profiling.counts import read_counts
from metalbench.run.trial import Trial
from metalbench.sandbox.executors import open_sandboxed_device
from metalbench.store.result import CountedBytes
from metalbench.task import Task
from metalbench.task.declaration import TimedDevice
from metalbench.task.workload import workload
from metalbench.verify.flow import small_sizes

if TYPE_CHECKING:
    from metalbench._core import Device
    from metalbench.run.trial import Described


# Metal makes traces only in processes that start with this variable.
VARIABLE = "MTL_CAPTURE_ENABLED=1"


def check_captures(device: Described) -> None:
    """Raise Unsupported if `device` cannot make GPU traces in this process."""
    able = device.capabilities.get("gpu_trace")
    if able is None:
        raise Unsupported(
            f"capture: GPU traces are made by Metal, on a Mac; the {device.kind} device has none"
        )
    if not able:
        raise Unsupported(
            "capture: Metal makes GPU traces only in a process that is started with "
            f"{VARIABLE}; run `{VARIABLE} metalbench run ...`"
        )


def capture(device: Device, trial: Trial, path: Path) -> None:
    """Run one pass of the kernel and write a GPU trace of it to `path` (FILE.gputrace).

    Raises Unsupported, and the errors of compiling and running the kernel.
    """
    size = trial.size_on(device)
    work = workload(trial.entry.task, size, dtype_name=trial.dtype, seed=trial.seed)
    device.capture(trial.builds(device).plain.bind(work).dispatches, str(path))


# Count the bytes that one pass of a timed kernel reads and writes.
#
# The count is at the timed size if that is fast enough, else at a small size. The build cache keeps
# it.

# Longest expected time of a counted run at the timed size.
LONGEST_S = 2.0
_SMALL_S = 20.0


def count_bytes(trial: Trial, device: TimedDevice) -> CountedBytes | None:
    """Return the bytes of one pass of a kernel that was timed on `device`.

    None for candidates in Python. Raises MetalBenchError where the kernel does not compile for the
    `cpu` device, or does not run there.
    """
    if trial.kernel.is_python:
        return None
    task, timed = trial.entry.task, trial.size_on(device)
    key = _key(trial, timed)
    kept = build_cache.load(key)
    if kept is not None:
        return CountedBytes(**kept)
    compiled = compile_kernel(
        open_sandboxed_device(),
        trial.kernel,
        task,
        dtype_name=trial.dtype,
        tunables=trial.tunables,
        counted=True,
    )
    found = _count(compiled, trial, timed)
    build_cache.store(key, asdict(found))
    return found


def _count(compiled: Compiled, trial: Trial, timed: str) -> CountedBytes:
    """Count at a small size, and at the timed size if that is expected to be fast enough."""
    small = next(iter(small_sizes(compiled.task)), timed)
    _count_at(compiled, trial, small, timed, _SMALL_S)  # starts the process, too
    start = perf_counter()
    found = _count_at(compiled, trial, small, timed, _SMALL_S)
    expected_s = (perf_counter() - start) * _growth(compiled.task, small, timed, trial.dtype)
    if small != timed and expected_s <= LONGEST_S:
        try:
            return _count_at(compiled, trial, timed, timed, 2 * LONGEST_S)
        except MetalBenchError:
            return found
    return found


def _growth(task: Task, small: str, timed: str, dtype: str) -> float:
    """Return the ratio of the work of two sizes."""
    flops = task.flops(timed) / max(1, task.flops(small))
    return max(1.0, flops, task.bytes(timed, dtype) / max(1, task.bytes(small, dtype)))


def _count_at(
    compiled: Compiled, trial: Trial, size: str, timed: str, time_limit: float
) -> CountedBytes:
    drawn = workload(compiled.task, size, dtype_name=trial.dtype, seed=trial.seed)
    bound = compiled.bind(drawn)
    compiled.device.run(bound.dispatches, time_limit=time_limit)
    counts = read_counts(compiled, bound)
    return CountedBytes(
        size=size,
        timed=size == timed,
        read=sum(each.total.device_bytes_read for each in counts),
        written=sum(each.total.device_bytes_written for each in counts),
        unique_read=sum(each.unique_bytes_read for each in counts),
        unique_written=sum(each.unique_bytes_written for each in counts),
        declared=compiled.task.bytes(size, trial.dtype, in_place=bool(compiled.kernel.inouts)),
    )


def _key(trial: Trial, timed: str) -> str:
    task = trial.entry.task
    return build_cache.digest(
        "counted bytes",
        find_toolchain().key,
        trial.kernel.text,
        task.name,
        repr(task.extents(timed)),
        trial.dtype,
        repr(sorted(trial.tuned.items())),
    )
