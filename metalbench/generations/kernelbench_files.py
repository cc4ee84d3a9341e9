"""KernelBench's own result files, read and written: `eval_results.json` and baseline timings.

Times in them are milliseconds. A run is one level; `generation_config.yaml` beside its results says
which. Keys that are not known are kept as they are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from metalbench.errors import DeclarationError
from metalbench.generations.folder import write

RESULTS, CONFIG = "eval_results.json", "generation_config.yaml"
PASS_AT_K = "pass_at_k_results.json"
# The runtime of what was not timed.
UNTIMED = -1.0
_LEVEL = re.compile(r"^level:\s*(\d+)\s*$", re.MULTILINE)
_NUMBER = re.compile(r"(\d+)_")


@dataclass(frozen=True)
class Evaluated:
    """One sample of a problem; `runtime` is the mean time, `stats` what it is the mean of."""

    sample: int
    compiled: bool
    correct: bool
    runtime: float = UNTIMED
    stats: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    others: Mapping[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """The entry of the file."""
        return {
            "sample_id": self.sample,
            "compiled": self.compiled,
            "correctness": self.correct,
            "metadata": dict(self.metadata),
            "runtime": self.runtime,
            "runtime_stats": dict(self.stats),
            **self.others,
        }


Problems = Mapping[int, Sequence[Evaluated]]
# Levels such as "level1", and in each stats by the name of the problem's file.
Timings = Mapping[str, Mapping[str, Mapping[str, Any]]]


def is_run(root: Path) -> bool:
    """Whether a folder holds a run of KernelBench's, and none of ours."""
    return (root / RESULTS).is_file() and not (root / "run.json").is_file()


def read_results(root: Path) -> dict[int, list[Evaluated]]:
    """The samples of every problem in a run's folder; raises DeclarationError for another file."""
    path = root / RESULTS
    read = _json(path)
    try:
        return {int(key): [_evaluated(each) for each in _listed(read[key])] for key in read}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DeclarationError(
            f'{path}: expected {{"1": [{{"sample_id": 0, "compiled": true, "correctness": true, '
            f'"runtime": 1.5, ...}}]}}, got {error!r}'
        ) from None


def write_results(root: Path, level: int, problems: Problems) -> None:
    """Write a run's folder; raises MachineError if that cannot be."""
    told = {
        str(number): [each.as_json() for each in samples] for number, samples in problems.items()
    }
    write(root / RESULTS, json.dumps(told, indent=4) + "\n")
    write(root / CONFIG, f"level: {level}\nrun_name: {json.dumps(root.name)}\n")


def level_of_run(root: Path) -> int:
    """The level of a run, by its configuration; raises DeclarationError where that is not told."""
    path = root / CONFIG
    found = _LEVEL.search(path.read_text(encoding="utf-8")) if path.is_file() else None
    if found is None:
        raise DeclarationError(f"{path}: expected a line such as `level: 1`, found none")
    return int(found[1])


def read_timings(path: Path) -> dict[int, dict[int, Mapping[str, Any]]]:
    """The baseline's stats by level and problem; raises DeclarationError for another file."""
    read = _json(path)
    found: dict[int, dict[int, Mapping[str, Any]]] = {}
    try:
        for level, problems in read.items():
            numbers = found.setdefault(int(str(level).removeprefix("level")), {})
            for name, stats in problems.items():
                number = _NUMBER.match(name)
                if number is None or not float(stats["mean"]) > 0:
                    raise ValueError(f"{name!r}: {stats!r}")
                numbers[int(number[1])] = stats
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DeclarationError(
            f'{path}: expected {{"level1": {{"19_ReLU.py": {{"mean": 1.5, ...}}}}}}, got {error!r}'
        ) from None
    return found


def write_timings(path: Path, timings: Timings) -> None:
    """Write a baseline's stats; raises MachineError if that cannot be."""
    write(path, json.dumps(timings, indent=4) + "\n")


def _evaluated(read: Mapping[str, Any]) -> Evaluated:
    known = ("sample_id", "compiled", "correctness", "metadata", "runtime", "runtime_stats")
    runtime = read.get("runtime")
    return Evaluated(
        int(read["sample_id"]),
        bool(read["compiled"]),
        bool(read["correctness"]),
        UNTIMED if runtime is None else float(runtime),
        dict(read.get("runtime_stats") or {}),
        dict(read.get("metadata") or {}),
        {key: each for key, each in read.items() if key not in known},
    )


def _listed(samples: Any) -> list[Mapping[str, Any]]:
    """Older files have the only sample in place of a list."""
    return [samples] if isinstance(samples, dict) else list(samples)


def _json(path: Path) -> dict[str, Any]:
    try:
        read = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DeclarationError(f"{path} cannot be read: {error}") from None
    if not isinstance(read, dict):
        raise DeclarationError(f"{path}: expected an object, got {type(read).__name__}")
    return read
