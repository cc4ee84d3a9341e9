"""Results of one run, wherever they are kept."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metalbench.errors import DeclarationError, StoreError
from metalbench.stats import Interval

if TYPE_CHECKING:
    from metalbench.store import HistoryEntry, Store

SCHEMA = 1
Key = tuple[str, str, str]
# Earlier results of a task that are looked at for how much runs differ.
MOST_OTHERS = 200


@dataclass(frozen=True, slots=True)
class Row:
    """One kernel's result; times in nanoseconds, `ratio` is reference / kernel.

    `time_ns` is on the GPU's own clock where there is one; `clock` says what the ratio is of.
    `reference` names what the ratio is against: the form of it, and the version of MLX. `engine` is
    what the cpu device ran kernels as that synchronise.
    """

    task: str
    dtype: str
    size: str
    sizes: Mapping[str, int]
    status: str
    mode: str
    engine: str
    clock: str | None
    source_hash: str
    reference: tuple[str | None, str | None]
    time_ns: Interval | None
    ratio: Interval | None
    verdict: str | None = None

    @property
    def key(self) -> Key:
        """What makes two rows the same kernel: task, element type and size."""
        return self.task, self.dtype, self.size


@dataclass(frozen=True, slots=True)
class ResultSet:
    """The rows of a run on one device, and what to call it.

    `others` are, of each row by its key, what the store knows of other runs of the task under the
    same conditions, the latest first; none of a file.
    """

    name: str
    device: str
    rows: tuple[Row, ...]
    others: Mapping[tuple[str, ...], tuple[HistoryEntry, ...]] = field(default_factory=dict)

    @classmethod
    def of_run(cls, store: Store, run: int, name: str) -> ResultSet:
        """Run number `run` of `store`; raises StoreError if it has no results."""
        entries = store.results(run)
        if not entries:
            known = store.runs(3)
            which = f"the latest are {', '.join(map(str, known))}" if known else "it has none"
            raise StoreError(f"[store] {store.path}: no results of run {run}; {which}")
        others: dict[tuple[str, ...], tuple[HistoryEntry, ...]] = {
            row_of(entry).key: _others(store, entry) for entry in entries
        }
        return cls(name, _device(entries[0]), tuple(map(row_of, entries)), others)

    @classmethod
    def of_latest(cls, store: Store, back: int, name: str) -> ResultSet:
        """The run `back` runs before the latest; raises StoreError if there are not as many."""
        known = store.runs(back + 1)
        if len(known) <= back:
            raise StoreError(
                f"[store] {store.path}: {name} is {back} before the latest run, and there are "
                f"{len(known)}; `metalbench run` makes more"
            )
        return cls.of_run(store, known[back], f"run:{known[back]}")

    @classmethod
    def of_file(cls, path: Path) -> ResultSet:
        """Read what `metalbench run --json` wrote; raises DeclarationError if it is none."""
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
            if document["schema"] != SCHEMA:
                raise DeclarationError(
                    f"{path}: expected results of schema {SCHEMA}, got {document['schema']}; "
                    "another version of metalbench wrote them"
                )
            environment = document["environment"]
            rows = tuple(_row_of_json(entry, environment) for entry in document["results"])
            device = f"{document['device']['kind']} ({document['device']['name']})"
        except DeclarationError:
            raise
        except (OSError, ValueError, KeyError, TypeError) as error:
            cause = f"{type(error).__name__}: {error}"
            raise DeclarationError(
                f"{path}: expected results from `metalbench run --json FILE`; {cause}"
            ) from error
        return cls(str(path), device, rows)


def _others(store: Store, entry: HistoryEntry) -> tuple[HistoryEntry, ...]:
    past = store.history(entry.task, MOST_OTHERS)
    same = (each for each in past if each.conditions == entry.conditions)
    return tuple(each for each in same if each.run != entry.run)


def row_of(entry: HistoryEntry) -> Row:
    """What of a kept result is compared."""
    return Row(
        task=entry.task,
        dtype=entry.dtype,
        size=entry.size,
        sizes=entry.sizes,
        status=entry.status,
        mode=entry.mode,
        engine=entry.engine,
        clock=entry.clock,
        source_hash=entry.source_hash,
        reference=(entry.form, entry.mlx),
        time_ns=entry.kernel_ns if entry.gpu_ns is None else entry.gpu_ns,
        ratio=entry.ratio,
        verdict=entry.verdict,
    )


def _row_of_json(entry: Mapping[str, Any], environment: Mapping[str, Any]) -> Row:
    form = next((each["name"] for each in entry.get("forms", ()) if each["compared"]), None)
    return Row(
        task=entry["task"],
        dtype=entry["dtype"],
        size=entry["size"],
        sizes=entry["sizes"],
        status=entry["status"],
        mode=entry.get("mode") or "warm",
        engine=environment.get("engine", "fibers"),
        clock=entry["clock"],
        source_hash=entry["source_hash"],
        reference=(form, environment["versions"].get("mlx")),
        time_ns=_interval(entry["gpu_ns"] or entry["kernel_ns"]),
        ratio=_interval(entry["ratio"]),
        verdict=entry.get("verdict"),
    )


def _interval(given: Mapping[str, float | None] | None) -> Interval | None:
    if given is None or given["value"] is None:
        return None
    low, high = given["low"], given["high"]
    return Interval(
        given["value"], -math.inf if low is None else low, math.inf if high is None else high
    )


def _device(entry: HistoryEntry) -> str:
    return f"{entry.device_kind} ({entry.device_name})"


def by_key(rows: Sequence[Row]) -> dict[Key, Row]:
    """Rows by what makes them the same kernel; of several the last."""
    return {row.key: row for row in rows}
