"""Take snapshots of kernels' outputs on the `cpu` device at the first size of their tasks."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from metalbench.errors import MetalBenchError, find_machine_error
from metalbench.json_files import Text, read_json
from metalbench.kernel.prepare import Bound, compile_kernel
from metalbench.process import usable_cores
from metalbench.sandbox.executors import open_sandboxed_device
from metalbench.task.workload import Workload, workload
from metalbench.untrusted_files import replace_file

if TYPE_CHECKING:
    from metalbench.kernel.library import Entry


# Kernels of one executor: starting an executor takes longer than running a small kernel.
BATCH = 16
DIGITS = 16  # of a hash: by chance two in 2^64 agree
Case = tuple["Entry", str]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Hashes of a kernel's inputs and of its outputs."""

    inputs: str
    outputs: str


@dataclass(frozen=True, slots=True)
class SnapshotResult:
    """The snapshot of a kernel in one element type, or the fault that prevented it."""

    task: str
    dtype: str
    snapshot: Snapshot | None
    fault: str = ""


def take_snapshots(cases: Sequence[Case]) -> Iterator[SnapshotResult]:
    """Take the snapshot of each kernel and element type, in order, compiling the next meanwhile.

    Inputs are those of seed 0 at the task's first size. A fault of a kernel or a task is in the
    result. Raises MachineError for other faults.
    """
    batches = [cases[begin : begin + BATCH] for begin in range(0, len(cases), BATCH)]
    with ThreadPoolExecutor(usable_cores()) as compilers:
        coming = _Batch(batches[0], compilers) if batches else None
        for following in [*batches[1:], None]:
            assert coming is not None
            present, coming = coming, None
            if following is not None:
                coming = _Batch(following, compilers)
            try:
                yield from present.run()
            except BaseException:
                if coming is not None:
                    coming.cancel()
                raise
            finally:
                present.cancel()


class _Batch:
    """Cases whose kernels run in one executor; creating it starts their compilation.

    A sealed executor cannot load code: all kernels of a batch are loaded before the first one runs.
    """

    def __init__(self, cases: Sequence[Case], compilers: ThreadPoolExecutor) -> None:
        self._device = open_sandboxed_device()
        self._cases = cases
        self._futures = [compilers.submit(self._prepare, *case) for case in cases]

    def run(self) -> Iterator[SnapshotResult]:
        """Run the kernels in order."""
        wait(self._futures)
        for case, future in zip(self._cases, self._futures, strict=True):
            yield self._run(case, future)

    def cancel(self) -> None:
        """Cancel the compilations that have not started."""
        for future in self._futures:
            future.cancel()

    def _prepare(self, entry: Entry, dtype_name: str) -> tuple[Workload, Bound]:
        task, device = entry.task, self._device
        work = workload(task, next(iter(task.sizes)), dtype_name=dtype_name)
        kernel = entry.kernel(device, dtype=dtype_name)
        bound = compile_kernel(device, kernel, task, dtype_name=dtype_name).bind(work)
        device.load(bound.dispatches)
        return work, bound

    def _run(self, case: Case, future: Future[tuple[Workload, Bound]]) -> SnapshotResult:
        entry, dtype_name = case
        try:
            work, bound = future.result()
            bound.poison()
            self._device.run(bound.dispatches)
        except Exception as error:
            machine = find_machine_error(error)
            if machine is not None:
                raise machine from error
            if not isinstance(error, MetalBenchError):
                raise
            return SnapshotResult(entry.name, dtype_name, None, str(error))
        made = {name: bound.read(name) for name in bound.outputs}
        return SnapshotResult(entry.name, dtype_name, Snapshot(_hash(work.inputs), _hash(made)))


def _hash(arrays: Any) -> str:
    """Return the hash of names, shapes and bits; all NaNs have the same hash."""
    digest = hashlib.sha256()
    for name, array in arrays.items():
        values = np.ascontiguousarray(array)
        if values.dtype.kind not in "iub":  # of bfloat16 NumPy does not know what it is
            values = values.astype(np.float32)
            values[np.isnan(values)] = np.nan
        digest.update(f"{name} {array.dtype} {array.shape}\n".encode())
        digest.update(values.tobytes())
    return digest.hexdigest()[:DIGITS]


# The file of snapshots, with one line for every task.


class Change(str, Enum):
    """The relation of a snapshot to the snapshot in the file."""

    SAME = "same"
    CHANGED = "changed"
    # With other inputs the expected outputs are unknown.
    OTHER_INPUTS = "other inputs"
    NEW = "not in the file"
    FAILED = "failed"


class Snapshots:
    """The snapshots of a file, by task and element type."""

    def __init__(self, found: dict[str, dict[str, Snapshot]] | None = None) -> None:
        self._found = found or {}

    @classmethod
    def read(cls, path: Path) -> Snapshots:
        """Read a file; raises DeclarationError, with its name, if it is not a file of snapshots."""
        form = "snapshots as `metalbench snap --write` writes them"
        found = read_json(path, dict[str, dict[str, tuple[Text, Text]]], form=form)
        return cls(
            {
                task: {dtype: Snapshot(*hashes) for dtype, hashes in types.items()}
                for task, types in found.items()
            }
        )

    def __len__(self) -> int:
        return sum(map(len, self._found.values()))

    def cases(self) -> list[tuple[str, str]]:
        """Return the tasks and element types that have snapshots."""
        return [(task, dtype) for task, types in self._found.items() for dtype in types]

    def change(self, taken: SnapshotResult) -> Change:
        """Compare a new snapshot with that in the file."""
        before = self._found.get(taken.task, {}).get(taken.dtype)
        if taken.snapshot is None:
            return Change.FAILED
        if before is None:
            return Change.NEW
        if before.inputs != taken.snapshot.inputs:
            return Change.OTHER_INPUTS
        return Change.SAME if before == taken.snapshot else Change.CHANGED

    def keep(self, taken: Iterable[SnapshotResult]) -> None:
        """Replace the snapshots of these tasks by new ones."""
        fresh: dict[str, dict[str, Snapshot]] = {}
        for each in taken:
            if each.snapshot is not None:
                fresh.setdefault(each.task, {})[each.dtype] = each.snapshot
        for task, types in fresh.items():
            self._found[task] = {**self._found.get(task, {}), **types}

    def only(self, cases: Iterable[tuple[str, str]]) -> None:
        """Remove all but these tasks and element types."""
        known = set(cases)
        for task, types in list(self._found.items()):
            self._found[task] = {name: of for name, of in types.items() if (task, name) in known}
        self._found = {task: types for task, types in self._found.items() if types}

    def write(self, path: Path) -> None:
        """Write all snapshots, sorted by name."""
        lines = [
            f"{json.dumps(task)}: "
            + json.dumps({dtype: [of.inputs, of.outputs] for dtype, of in sorted(types.items())})
            for task, types in sorted(self._found.items())
        ]
        replace_file(path, "{\n" + ",\n".join(lines) + "\n}\n")
