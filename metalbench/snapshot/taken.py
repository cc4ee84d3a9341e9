"""The bits that kernels compute on the `cpu` device at the least size of their tasks."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from metalbench import _core
from metalbench.cores import usable_cores
from metalbench.errors import MetalBenchError, of_the_machine
from metalbench.kernel.prepare import Compiled, compile_kernel
from metalbench.task.workload import workload

if TYPE_CHECKING:
    from metalbench.kernel.library import Entry

DIGITS = 16  # of a hash: by chance two in 2^64 agree
Case = tuple["Entry", str]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Hashes of a kernel's inputs, as they were drawn, and of its outputs."""

    inputs: str
    outputs: str


@dataclass(frozen=True, slots=True)
class Taken:
    """The snapshot of a kernel in one element type, or why there is none."""

    task: str
    dtype: str
    snapshot: Snapshot | None
    fault: str = ""


def taken(cases: Sequence[Case]) -> Iterator[Taken]:
    """Take the snapshot of each kernel and element type, in order; others are compiled meanwhile.

    Inputs are those of seed 0 at the task's first size. What is wrong with a kernel or a task is in
    the result; raises MachineError for that which is not their fault.
    """
    device = _core.open("cpu")
    with ThreadPoolExecutor(usable_cores()) as compilers:
        futures = [compilers.submit(_compiled, device, *case) for case in cases]
        try:
            for case, future in zip(cases, futures, strict=True):
                yield _taken(device, case, future)
        finally:
            for future in futures:
                future.cancel()


def _compiled(device: _core.Device, entry: Entry, dtype_name: str) -> Compiled:
    return compile_kernel(device, entry.kernel(device), entry.task, dtype_name=dtype_name)


def _taken(device: _core.Device, case: Case, future: Future[Compiled]) -> Taken:
    entry, dtype_name = case
    try:
        task = entry.task
        work = workload(task, next(iter(task.sizes)), dtype_name=dtype_name)
        bound = future.result().bind(work)
        bound.poison()
        device.run(bound.dispatches)
    except Exception as error:
        machine = of_the_machine(error)
        if machine is not None:
            raise machine from error
        if not isinstance(error, MetalBenchError):
            raise
        return Taken(entry.name, dtype_name, None, str(error))
    made = {name: bound.read(name) for name in bound.outputs}
    return Taken(entry.name, dtype_name, Snapshot(_hash(work.inputs), _hash(made)))


def _hash(arrays: Any) -> str:
    """Of names, shapes and bits; of what is no number only that it is none."""
    digest = hashlib.sha256()
    for name, array in arrays.items():
        values = np.ascontiguousarray(array)
        if values.dtype.kind not in "iub":  # of bfloat16 NumPy does not know what it is
            values = values.astype(np.float32)
            values[np.isnan(values)] = np.nan
        digest.update(f"{name} {array.dtype} {array.shape}\n".encode())
        digest.update(values.tobytes())
    return digest.hexdigest()[:DIGITS]
