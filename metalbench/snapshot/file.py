"""The file of snapshots, with one line for every task."""

from __future__ import annotations

import json
from collections.abc import Iterable
from enum import Enum
from pathlib import Path

from metalbench.foreign_json import JsonValue, expect_form, read_json
from metalbench.plain_file import replace_file
from metalbench.snapshot.taken import Snapshot, SnapshotResult


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
        with expect_form(path, "snapshots as `metalbench snap --write` writes them"):
            return cls(
                {
                    task: {dtype: _snapshot(each) for dtype, each in types.object().items()}
                    for task, types in read_json(path).object().items()
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


def _snapshot(hashes: JsonValue) -> Snapshot:
    pair = hashes.list()
    if len(pair) != 2:
        hashes.refuse("two hashes, of the inputs and of the outputs")
    return Snapshot(*(each.text() for each in pair))
