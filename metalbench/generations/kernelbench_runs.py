"""Runs of KernelBench's beside ours: ours written as theirs, theirs with the same figures."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from metalbench.errors import DeclarationError
from metalbench.generations import kernelbench_files as files
from metalbench.generations.baselines import classify_form
from metalbench.generations.folder import (
    SamplePlan,
    check_planned,
    get_level_name,
    get_set_name,
    write,
)
from metalbench.generations.kernelbench_files import UNTIMED, KernelBenchSample
from metalbench.generations.metrics import MISSING, SampleOutcome
from metalbench.generations.outcomes import GenerationOutcome
from metalbench.kernel.library import Library
from metalbench.stats import CONFIDENCE, Interval, pass_at_k
from metalbench.store import Store
from metalbench.store.evaluations import Evaluation

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
        files.write_results(root, _parse_level(level) or 0, there, target)
        at_k = json.dumps(_compute_at_k(problems, plan.samples), indent=4) + "\n"
        write(root / files.PASS_AT_K, at_k, target)
        written += [root / files.RESULTS, root / files.PASS_AT_K]
    return written + _write_timings(target, evaluations, store)


def read_problems(
    root: Path, timing: Path | None
) -> tuple[SamplePlan, dict[tuple[str, int], list[SampleOutcome]], str]:
    """The plan, the samples by level and problem, and the hardware of a run of KernelBench's.

    Ratios are those of the means, by the baseline of `timing`; none without it. Their intervals
    follow from standard deviations and numbers of trials, where both files tell them.
    """
    number = files.read_run_level(root)
    level = get_level_name(f"kernelbench/level{number}")
    read = files.read_results(root)
    baseline = files.read_timings(timing).get(number, {}) if timing is not None else {}
    every = len(Library().names(get_set_name(level)))
    numbers = sorted({*range(1, every + 1), *read})
    count = max((1 + each.sample for samples in read.values() for each in samples), default=1)
    plan = SamplePlan({level: numbers}, count, id="")
    check_planned(plan, root / files.RESULTS)
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
        files.write_timings(path, levels, target)
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
) -> SampleOutcome:
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
    return SampleOutcome(outcome, _compute_ratio(each, baseline) if each.correct else None)


def _compute_ratio(each: KernelBenchSample, baseline: Mapping[str, Any] | None) -> Interval | None:
    if baseline is None or each.runtime <= 0:
        return None
    ours, theirs = _make_interval({"mean": each.runtime, **each.stats}), _make_interval(baseline)
    high = theirs.high / ours.low if ours.low > 0 else math.inf
    return Interval(theirs.value / ours.value, max(0.0, theirs.low) / ours.high, high)


def _make_interval(stats: Mapping[str, Any]) -> Interval:
    """A mean with Student's interval, or ours; unbounded where neither is told."""
    from scipy.special import stdtrit  # type: ignore[import-untyped,unused-ignore]

    mean, spread, trials = float(stats["mean"]), stats.get("std"), stats.get("num_trials")
    if "low" in stats and "high" in stats:
        return Interval(mean, float(stats["low"]), float(stats["high"]))
    if spread is None or not trials or int(trials) < 2:
        return Interval(mean, -math.inf, math.inf)
    quantile = float(stdtrit(int(trials) - 1, 0.5 + CONFIDENCE / 2))
    reach = quantile * float(spread) / math.sqrt(int(trials))
    return Interval(mean, mean - reach, mean + reach)
