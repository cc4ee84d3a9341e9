"""KernelBench's own result files, read and written: `eval_results.json` and baseline timings.

Times in them are milliseconds. A run is one level, which `generation_config.yaml` in its folder
names. Unknown keys are preserved.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np

from metalbench.errors import DeclarationError
from metalbench.json_files import Count, Text, convert_json, read_json
from metalbench.kernel.library import Library
from metalbench.kernelbench.answers import GenerationOutcome
from metalbench.kernelbench.folder import (
    Number,
    SamplePlan,
    check_planned,
    get_level_name,
    get_set_name,
    write,
)
from metalbench.kernelbench.metrics import MISSING, EvaluatedSample, classify_form
from metalbench.stats import CONFIDENCE, Interval, pass_at_k
from metalbench.store.history import Evaluation
from metalbench.store.store import Store
from metalbench.untrusted_files import read_plain_file

RESULTS, CONFIG = "eval_results.json", "generation_config.yaml"
PASS_AT_K = "pass_at_k_results.json"
# The runtime of what was not timed.
UNTIMED = -1.0
_LEVEL = re.compile(r"^level:\s*(\d{1,6})\s*$", re.MULTILINE | re.ASCII)
RESULTS_FORM = (
    '{"1": [{"sample_id": 0, "compiled": true, "correctness": true, "runtime": 1.5, ...}]}'
)
TIMINGS_FORM = '{"level1": {"19_ReLU.py": {"mean": 1.5, ...}}}'
MOST_CONFIG_BYTES = 1 << 20
# From a picosecond to 30 years: ratios of such times are in range.
LEAST_MS, MOST_MS = 1e-9, 1e12
TimeMs = Annotated[float, msgspec.Meta(ge=-MOST_MS, le=MOST_MS)]
PositiveMs = Annotated[float, msgspec.Meta(ge=LEAST_MS, le=MOST_MS)]
# Names in these files: of a problem, of a level, and of a problem's file.
Digits = Annotated[str, msgspec.Meta(pattern=r"^[0-9]{1,6}\Z")]
LevelName = Annotated[str, msgspec.Meta(pattern=r"^(level)?[0-9]{1,6}\Z")]
FileName = Annotated[str, msgspec.Meta(pattern=r"^[0-9]{1,6}_")]


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
    """Return whether a folder holds a run of KernelBench, and not one of metalbench."""
    return (root / RESULTS).is_file() and not (root / "run.json").is_file()


class SavedStats(msgspec.Struct):
    """The statistics of a time in ms that ratios are computed from; files hold others, too."""

    mean: TimeMs | None = None
    std: TimeMs | None = None
    low: TimeMs | None = None
    high: TimeMs | None = None
    num_trials: Count | None = None


class SavedBaseline(SavedStats, kw_only=True):
    """The statistics of a baseline."""

    mean: PositiveMs


class SavedMetadata(msgspec.Struct):
    """The metadata of a sample that are read."""

    hardware: Text | None = None
    metalbench_class: Text | None = None


class SavedSample(msgspec.Struct):
    """A sample of a file of results."""

    sample_id: Number
    compiled: bool
    correctness: bool
    runtime: TimeMs | None = None
    runtime_stats: SavedStats | None = None
    metadata: SavedMetadata | None = None

    def __post_init__(self) -> None:
        if self.runtime is not None and 0 < self.runtime < LEAST_MS:
            raise ValueError(f"Expected a runtime of {LEAST_MS:g} ms or more, got {self.runtime}")


def read_results(root: Path) -> dict[int, list[KernelBenchSample]]:
    """The samples of every problem in a run's folder; raises DeclarationError for another file."""
    path = root / RESULTS
    plain = read_json(path, dict[str, Any], form=RESULTS_FORM)
    # Older files have the only sample in place of a list.
    found = {key: [each] if isinstance(each, dict) else each for key, each in plain.items()}
    saved = convert_json(found, dict[Digits, list[SavedSample]], str(path), form=RESULTS_FORM)
    return {
        int(key): [_make_sample(*each) for each in zip(samples, found[key], strict=True)]
        for key, samples in saved.items()
    }


def write_results(root: Path, level: int, problems: Problems, target: Path) -> None:
    """Write a run's folder, which lies in `target`; raise as `folder.write` does."""
    told = {
        str(number): [each.as_json() for each in samples] for number, samples in problems.items()
    }
    write(root / RESULTS, json.dumps(told, indent=4) + "\n", target)
    write(root / CONFIG, f"level: {level}\nrun_name: {json.dumps(root.name)}\n", target)


def read_run_level(root: Path) -> int:
    """Return the level of a run from its configuration. Raise DeclarationError if it is missing."""
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
    plain = read_json(path, dict[str, dict[str, dict[str, Any]]], form=TIMINGS_FORM)
    convert_json(
        plain, dict[LevelName, dict[FileName, SavedBaseline]], str(path), form=TIMINGS_FORM
    )
    found: dict[int, dict[int, Mapping[str, Any]]] = {}
    for level, problems in plain.items():
        numbers = found.setdefault(int(level.removeprefix("level")), {})
        for name, stats in problems.items():
            numbers[int(name.partition("_")[0])] = _without_nulls(stats)
    return found


def write_timings(path: Path, timings: Timings, target: Path) -> None:
    """Write a baseline's stats into the folder `target`; raise as `folder.write` does."""
    write(path, json.dumps(timings, indent=4) + "\n", target)


def _make_sample(saved: SavedSample, plain: Mapping[str, Any]) -> KernelBenchSample:
    known = SavedSample.__struct_fields__
    return KernelBenchSample(
        saved.sample_id,
        saved.compiled,
        saved.correctness,
        UNTIMED if saved.runtime is None else saved.runtime,
        _without_nulls(plain.get("runtime_stats") or {}),
        plain.get("metadata") or {},
        {name: each for name, each in plain.items() if name not in known},
    )


def _without_nulls(stats: Mapping[str, Any]) -> dict[str, Any]:
    return {name: each for name, each in stats.items() if each is not None}


# Convert runs: write ours in KernelBench's format, and read theirs as evaluations.

BASELINES = {
    "eager": "baseline_time_mlx",
    "compiled": "baseline_time_mlx_compile",
    "fast": "baseline_time_mlx_fast",
}
OUTCOME = "metalbench_class"
# KernelBench's keys for what went wrong, by how far a sample has got.
_ISSUES = {
    GenerationOutcome.WRONG: "correctness_issue",
    GenerationOutcome.CHEAT: "correctness_issue",
    GenerationOutcome.FAULT: "correctness_issue",
}
NS_PER_MS = 1e6


def export(
    target: Path, name: str, plan: SamplePlan, evaluations: Sequence[Evaluation], store: Store
) -> list[Path]:
    """Write ``runs/NAME`` for every level and ``results/timing/HARDWARE`` into `target`.

    With several levels a run is called ``NAME_level_1``. Returns what was written. Raises
    DeclarationError for a level that is none of KernelBench's, MachineError if a file cannot be
    written.
    """
    levels = [level for level, numbers in plan.problems.items() if numbers]
    for level in levels:
        if _parse_level(level) is None:
            raise DeclarationError(f"{level}: expected a level of KernelBench's, such as level_1")
    written = []
    for level in levels:
        mine = [each for each in evaluations if each.place.level == level]
        root = target / "runs" / (name if len(levels) == 1 else f"{name}_{level}")
        problems = {
            number: _convert_samples(mine, number, store) for number in plan.problems[level]
        }
        there = {number: samples for number, samples in problems.items() if samples}
        write_results(root, _parse_level(level) or 0, there, target)
        at_k = json.dumps(_compute_at_k(problems, plan.samples), indent=4) + "\n"
        write(root / PASS_AT_K, at_k, target)
        written += [root / RESULTS, root / PASS_AT_K]
    return written + _write_timings(target, evaluations, store)


def read_problems(
    root: Path, timing: Path | None
) -> tuple[SamplePlan, dict[tuple[str, int], list[EvaluatedSample]], str]:
    """The plan, the samples by level and problem, and the hardware of a run of KernelBench's.

    Ratios are those of the means, by the baseline of `timing`; none without it. Their intervals
    follow from standard deviations and numbers of trials, where both files tell them.
    """
    number = read_run_level(root)
    level = get_level_name(f"kernelbench/level{number}")
    read = read_results(root)
    baseline = read_timings(timing).get(number, {}) if timing is not None else {}
    every = len(Library().names(get_set_name(level)))
    numbers = sorted({*range(1, every + 1), *read})
    count = max((1 + each.sample for samples in read.values() for each in samples), default=1)
    plan = SamplePlan({level: numbers}, count, id="")
    check_planned(plan, root / RESULTS)
    found = {}
    for problem in numbers:
        samples = {
            each.sample: _convert_kernelbench_sample(each, baseline.get(problem))
            for each in read.get(problem, ())
        }
        found[level, problem] = [samples.get(i, MISSING) for i in range(count)]
    told = [
        about for all_ in read.values() for each in all_ for about in (each.stats, each.metadata)
    ]
    hardware = next((str(each["hardware"]) for each in told if "hardware" in each), "unknown")
    return plan, found, hardware


def _parse_level(level: str) -> int | None:
    number = level.removeprefix("level_")
    return int(number) if number.isdecimal() and number != level else None


def _convert_samples(
    mine: Sequence[Evaluation], problem: int, store: Store
) -> list[KernelBenchSample]:
    return [_convert_evaluation(each, store) for each in mine if each.place.problem == problem]


def _convert_evaluation(each: Evaluation, store: Store) -> KernelBenchSample:
    outcome = GenerationOutcome(each.outcome)
    correct = outcome is GenerationOutcome.CORRECT
    metadata = {"hardware": each.device_name, "device": each.device_kind, OUTCOME: each.outcome}
    if not correct:
        error = "runtime_error" if outcome.has_compiled else "compilation_error"
        metadata[_ISSUES.get(outcome, error)] = each.message
    stats: Mapping[str, Any] = {}
    if each.kernel_ns is not None:
        stats = _make_stats(store.samples(each.result).get("kernel"), each.kernel_ns, each)
    runtime = float(stats["mean"]) if correct and stats else UNTIMED
    return KernelBenchSample(
        each.place.sample,
        outcome.has_compiled,
        correct,
        runtime,
        stats if correct else {},
        metadata,
    )


def _make_stats(samples: Any, time: Interval, each: Evaluation) -> dict[str, Any]:
    """Milliseconds: of the windows where they were kept, else what is known of the median."""
    where = {"hardware": each.device_name, "device": each.device_kind}
    if samples is None or not len(samples):
        ends = (
            {"low": time.low / NS_PER_MS, "high": time.high / NS_PER_MS} if time.is_bounded else {}
        )
        return {"mean": time.value / NS_PER_MS, **ends, "num_trials": 0, **where}
    ms = np.asarray(samples, float) / NS_PER_MS
    spread = float(ms.std(ddof=1)) if ms.size > 1 else 0.0
    return {
        "mean": float(ms.mean()),
        "std": spread,
        "min": float(ms.min()),
        "max": float(ms.max()),
        "num_trials": int(ms.size),
        **where,
    }


def _write_timings(target: Path, evaluations: Sequence[Evaluation], store: Store) -> list[Path]:
    """The forms of MLX as baselines, each problem's by the first sample that was timed."""
    found: dict[tuple[str, str], dict[str, dict[str, Any]]] = {}
    for each in evaluations:
        for name, time in each.forms:
            stats = _make_stats(None, time, each)
            levels = found.setdefault((each.device_name, classify_form(name)), {})
            file = f"{each.place.problem}_{each.task.split('_', 2)[-1]}.py"
            levels.setdefault(f"level{_parse_level(each.place.level)}", {}).setdefault(file, stats)
    written = []
    for (hardware, kind), levels in found.items():
        folder = "".join(c if c.isalnum() or c in "-_" else "_" for c in hardware)
        path = target / "results" / "timing" / folder / f"{BASELINES[kind]}.json"
        write_timings(path, levels, target)
        written.append(path)
    return written


def _compute_at_k(
    problems: Mapping[int, Sequence[KernelBenchSample]], count: int
) -> dict[str, Any]:
    ks = sorted({1, count})
    right = {number: sum(each.correct for each in those) for number, those in problems.items()}
    each_k = {
        number: {f"pass@{k}": pass_at_k(count, right[number], k) for k in ks} for number in problems
    }
    names = [f"pass@{k}" for k in ks]
    averages = {
        f"avg_{each}": _compute_mean([of[each] for of in each_k.values()]) for each in names
    }
    return {
        "averages": averages,
        "metadata": {
            "total_problems": len(problems),
            "problems_with_samples": sum(bool(those) for those in problems.values()),
            "total_evaluated_samples": sum(len(those) for those in problems.values()),
            "total_correct_samples": sum(right.values()),
        },
        "problems": {
            str(number): {"total_samples": count, "correct_samples": right[number], **of}
            for number, of in each_k.items()
        },
    }


def _compute_mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _convert_kernelbench_sample(
    each: KernelBenchSample, baseline: Mapping[str, Any] | None
) -> EvaluatedSample:
    told = each.metadata.get(OUTCOME)
    if each.correct:
        outcome = GenerationOutcome.CORRECT
    elif told in {one.value for one in GenerationOutcome} - {GenerationOutcome.CORRECT.value}:
        outcome = GenerationOutcome(told)
    elif not each.compiled:
        outcome = GenerationOutcome.DOES_NOT_COMPILE
    else:
        crashed = any(key.startswith("runtime_error") for key in each.metadata)
        outcome = GenerationOutcome.CRASH if crashed else GenerationOutcome.WRONG
    return EvaluatedSample(outcome, _compute_ratio(each, baseline) if each.correct else None)


def _compute_ratio(each: KernelBenchSample, baseline: Mapping[str, Any] | None) -> Interval | None:
    if baseline is None or each.runtime <= 0:
        return None
    ours, theirs = _make_interval({"mean": each.runtime, **each.stats}), _make_interval(baseline)
    high = theirs.high / ours.low if ours.low > 0 else math.inf
    return Interval(theirs.value / ours.value, max(0.0, theirs.low) / ours.high, high)


def _make_interval(stats: Mapping[str, Any]) -> Interval:
    """Return the mean with Student's interval, or with the stored one; unbounded without both."""
    from scipy.special import stdtrit  # type: ignore[import-untyped,unused-ignore]

    mean, spread, trials = float(stats["mean"]), stats.get("std"), stats.get("num_trials")
    if "low" in stats and "high" in stats:
        return Interval(mean, float(stats["low"]), float(stats["high"]))
    if spread is None or not trials or int(trials) < 2:
        return Interval(mean, -math.inf, math.inf)
    quantile = float(stdtrit(int(trials) - 1, 0.5 + CONFIDENCE / 2))
    reach = quantile * float(spread) / math.sqrt(int(trials))
    return Interval(mean, mean - reach, mean + reach)
