"""Compare repeated runs bit for bit: on the same inputs, and after runs on other inputs."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from metalbench.kind import Kind
from metalbench.task.workload import sample_places, workload
from metalbench.verify.examine import Examiner
from metalbench.verify.verdict import Finding, Report

RUNS = 3
# Outputs with fewer elements than this are poisoned completely.
FEW = 64
Arrays = dict[str, np.ndarray[Any, Any]]


def examine_repeatedly(examiner: Examiner) -> Report:
    """Examine a kernel; if that passes, run it repeatedly and compare all runs."""
    report = examiner.examine()
    if report.passed:
        findings = (
            compare_repeated_runs(examiner)
            or compare_with_changed_inputs(examiner)
            or compare_over_poisoned_results(examiner)
        )
        report += Report(tuple(findings))
    return report


def compare_repeated_runs(examiner: Examiner) -> list[Finding]:
    """Run again on the same inputs, with another poison and at other addresses; compare outputs."""
    first = _copy_outputs(examiner)
    for again in range(2, RUNS + 1):
        here = _move_to_other_memory(examiner) if again == 2 else examiner
        here.run(again - 1)
        if here is not examiner:
            examiner.bound.load(examiner.workload)
        for name, before in first.items():
            if here.bound.outputs[name].holds(before):
                continue
            count, index, (old, new) = _find_difference(before, here.bound.read(name))
            wrote_nothing = here.bound.outputs[name].unwritten()[index]
            message = (
                f"{name}: run {again} on the same inputs differs from run 1 in {count} elements, "
                f"first at {index}: {old} then {'nothing' if wrote_nothing else new}; is a barrier "
                "missing, or is memory read that this run has not written?"
            )
            return [here.make_finding(Kind.NONDETERMINISTIC, message, name)]
        findings = here.judge_memory()
        if findings:
            return findings
    return []


def compare_with_changed_inputs(examiner: Examiner) -> list[Finding]:
    """Change part of the inputs, run in the memory of the last run, then in fresh memory; compare.

    Data that the kernel keeps between runs, in outputs or scratch, causes a difference. Afterwards
    the inputs are restored.
    """
    work = examiner.workload
    other = workload(
        work.task, work.size, dtype_name=work.dtype.name, seed=work.seed + work.task.turn
    )
    try:
        return compare_with_fresh_memory(
            replace(examiner, bound=examiner.bound.load(work.mix_with(other)))
        )
    finally:
        examiner.bound.load(work)


def compare_with_fresh_memory(examiner: Examiner) -> list[Finding]:
    """Run over the outputs of other inputs, then in fresh memory; compare outputs."""
    examiner.rerun()
    over = _copy_outputs(examiner)
    examiner.run()
    for name, stale in over.items():
        if examiner.bound.outputs[name].holds(stale):
            continue
        count, index, (old, new) = _find_difference(stale, examiner.bound.read(name))
        message = (
            f"{name}: a run over the results of other inputs differs from one in fresh memory "
            f"in {count} elements, first at {index}: {old} instead of {new}; the kernel must "
            "compute everything in every run, and read nothing that an earlier run left"
        )
        return [examiner.make_finding(Kind.STALE_RESULT, message, name)]
    return []


def compare_over_poisoned_results(examiner: Examiner) -> list[Finding]:
    """Run over the results of the same inputs, partly poisoned; compare outputs.

    A kernel that recognises its inputs and reuses earlier results reuses the poison.
    """
    examiner.run()
    first = _copy_outputs(examiner)
    for name, each in examiner.bound.outputs.items():
        count = first[name].size
        each.poison_places(sample_places(count) if count >= FEW else np.ones(count, bool))
    for each in examiner.bound.scratches.values():
        each.poison_places(sample_places(math.prod(each.shape)))
    examiner.rerun()
    for name, before in first.items():
        if examiner.bound.outputs[name].holds(before):
            continue
        count, index, (old, new) = _find_difference(before, examiner.bound.read(name))
        message = (
            f"{name}: a run over its own results, some of them poisoned, differs from one in fresh "
            f"memory in {count} elements, first at {index}: {new} instead of {old}; the kernel "
            "must compute everything in every run, and read nothing that an earlier run left"
        )
        return [examiner.make_finding(Kind.STALE_RESULT, message, name)]
    return []


def _move_to_other_memory(examiner: Examiner) -> Examiner:
    """Return an examiner in other memory; poison the old inputs, for kernels that keep pointers."""
    if examiner.compiled is None:
        return examiner
    there = examiner.compiled.bind(examiner.workload)
    for each in examiner.bound.inputs.values():
        each.poison()
    return replace(examiner, bound=there)


def _copy_outputs(examiner: Examiner) -> Arrays:
    return {name: examiner.bound.read(name).copy() for name in examiner.bound.outputs}


def _find_difference(
    before: np.ndarray[Any, Any], after: np.ndarray[Any, Any]
) -> tuple[int, tuple[int, ...], tuple[Any, Any]]:
    """Return the number of elements that differ in bits, the first index, and its two values."""
    unsigned = np.dtype(f"u{before.dtype.itemsize}")
    differs = before.view(unsigned) != after.view(unsigned)
    index = tuple(int(each) for each in np.argwhere(differs)[0])
    return int(differs.sum()), index, (before[index], after[index])
