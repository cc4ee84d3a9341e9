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
from metalbench.foreign_json import JsonValue, expect_form, read_json
from metalbench.generations.folder import MOST_NUMBER, write
from metalbench.plain_file import read_plain_file

RESULTS, CONFIG = "eval_results.json", "generation_config.yaml"
PASS_AT_K = "pass_at_k_results.json"
# The runtime of what was not timed.
UNTIMED = -1.0
_LEVEL = re.compile(r"^level:\s*(\d{1,6})\s*$", re.MULTILINE | re.ASCII)
_NUMBER = re.compile(r"(\d{1,6})_", re.ASCII)
_OF_LEVEL = re.compile(r"(?:level)?(\d{1,6})", re.ASCII)
_DIGITS = re.compile(r"\d{1,6}", re.ASCII)
RESULTS_FORM = (
    '{"1": [{"sample_id": 0, "compiled": true, "correctness": true, "runtime": 1.5, ...}]}'
)
MOST_CONFIG_BYTES = 1 << 20
# From a picosecond to 30 years: ratios of such times are in range.
LEAST_MS, MOST_MS = 1e-9, 1e12


@dataclass(frozen=True)
class KernelBenchSample:
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


Problems = Mapping[int, Sequence[KernelBenchSample]]
# Levels such as "level1", and in each stats by the name of the problem's file.
Timings = Mapping[str, Mapping[str, Mapping[str, Any]]]


def is_kernelbench_run(root: Path) -> bool:
    """Whether a folder holds a run of KernelBench's, and none of ours."""
    return (root / RESULTS).is_file() and not (root / "run.json").is_file()


def read_results(root: Path) -> dict[int, list[KernelBenchSample]]:
    """The samples of every problem in a run's folder; raises DeclarationError for another file."""
    path = root / RESULTS
    with expect_form(path, RESULTS_FORM):
        return {
            _parse_problem(key, samples): [_parse_sample(each) for each in _list_samples(samples)]
            for key, samples in read_json(path).object().items()
        }


def write_results(root: Path, level: int, problems: Problems, target: Path) -> None:
    """Write a run's folder, which lies in `target`; raise as `folder.write` does."""
    told = {
        str(number): [each.as_json() for each in samples] for number, samples in problems.items()
    }
    write(root / RESULTS, json.dumps(told, indent=4) + "\n", target)
    write(root / CONFIG, f"level: {level}\nrun_name: {json.dumps(root.name)}\n", target)


def read_run_level(root: Path) -> int:
    """The level of a run, by its configuration; raises DeclarationError where that is not told."""
    path = root / CONFIG
    found = None
    if path.is_file():
        data = read_plain_file(path, MOST_CONFIG_BYTES, "configuration")
        found = _LEVEL.search(data.decode("utf-8", "replace"))
    if found is None:
        raise DeclarationError(f"{path}: expected a line such as `level: 1`, found none")
    return int(found[1])


def read_timings(path: Path) -> dict[int, dict[int, Mapping[str, Any]]]:
    """The baseline's stats by level and problem; raises DeclarationError for another file."""
    with expect_form(path, '{"level1": {"19_ReLU.py": {"mean": 1.5, ...}}}'):
        return _parse_timings(read_json(path))


def _parse_timings(read: JsonValue) -> dict[int, dict[int, Mapping[str, Any]]]:
    found: dict[int, dict[int, Mapping[str, Any]]] = {}
    for level, problems in read.object().items():
        at = _OF_LEVEL.fullmatch(level)
        if at is None:
            problems.refuse("levels such as level1, with problems by their files' names")
        numbers = found.setdefault(int(at[1]), {})
        for name, stats in problems.object().items():
            number = _NUMBER.match(name)
            if number is None:
                stats.refuse('a name such as "19_ReLU.py" with stats such as {"mean": 1.5}')
            stats["mean"].number(LEAST_MS, MOST_MS)
            numbers[int(number[1])] = _parse_stats(stats)
    return found


def write_timings(path: Path, timings: Timings, target: Path) -> None:
    """Write a baseline's stats into the folder `target`; raise as `folder.write` does."""
    write(path, json.dumps(timings, indent=4) + "\n", target)


def _parse_problem(key: str, samples: JsonValue) -> int:
    if not _DIGITS.fullmatch(key):
        samples.refuse("the number of a problem in front of its samples")
    return int(key)


def _parse_sample(read: JsonValue) -> KernelBenchSample:
    known = ("sample_id", "compiled", "correctness", "metadata", "runtime", "runtime_stats")
    runtime, stats, metadata = (read.get(name) for name in ("runtime", "runtime_stats", "metadata"))
    time_ms = UNTIMED if runtime is None else runtime.number(most=MOST_MS)
    if runtime is not None and 0 < time_ms < LEAST_MS:
        runtime.number(LEAST_MS, MOST_MS)
    return KernelBenchSample(
        read["sample_id"].integer(0, MOST_NUMBER),
        read["compiled"].boolean(),
        read["correctness"].boolean(),
        time_ms,
        {} if stats is None else _parse_stats(stats),
        {} if metadata is None else _parse_metadata(metadata),
        {name: each.raw for name, each in read.object().items() if name not in known},
    )


def _parse_stats(read: JsonValue) -> dict[str, Any]:
    """Statistics of a time in ms, those checked that ratios are computed from."""
    for name in ("mean", "std", "low", "high"):
        found = read.get(name)
        if found is not None:
            found.number(-MOST_MS, MOST_MS)
    trials = read.get("num_trials")
    if trials is not None:
        trials.integer(0)
    return {name: each.raw for name, each in read.object().items() if each.raw is not None}


def _parse_metadata(read: JsonValue) -> dict[str, Any]:
    for name in ("hardware", "metalbench_class"):
        found = read.get(name)
        if found is not None:
            found.text()
    return {name: each.raw for name, each in read.object().items()}


def _list_samples(samples: JsonValue) -> Sequence[JsonValue]:
    """Older files have the only sample in place of a list."""
    return [samples] if isinstance(samples.raw, dict) else samples.list()
