"""Several folders of generations side by side: the figures of each level, and of all together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from metalbench.devices import find_kind
from metalbench.errors import DeclarationError
from metalbench.kernelbench.answers import GenerationOutcome
from metalbench.kernelbench.folder import SamplePlan, find_samples, read_plan
from metalbench.kernelbench.metrics import (
    THRESHOLDS,
    EvaluatedSample,
    Figures,
    compute_figures,
    group_samples,
)
from metalbench.kernelbench.result_files import is_kernelbench_run, read_problems
from metalbench.store.history import Evaluation
from metalbench.store.store import Store

ALL = "all"


@dataclass(frozen=True)
class ComparisonOptions:
    """Options of a comparison: thresholds p, values of k, and the baseline of the ratios.

    `device`, `dtype` and `sizes` choose among evaluations of several; None and no sizes take the
    only one. `timing` is the baseline's file for runs of KernelBench's own.
    """

    thresholds: Sequence[float] = THRESHOLDS
    ks: Sequence[int] = (1,)
    baseline: str = "compared"
    device: str | None = None
    dtype: str | None = None
    sizes: Sequence[str] = ()
    timing: Path | None = None


@dataclass(frozen=True)
class FolderFigures:
    """One folder: its name, the device, and figures by level; `ALL` is of all levels.

    `dtype` and `sizes` are those that were evaluated, empty if they are not known.
    """

    name: str
    device: str
    plan: SamplePlan
    levels: dict[str, Figures]
    problems: dict[tuple[str, int], list[EvaluatedSample]]
    dtype: str = ""
    sizes: tuple[str, ...] = ()

    @property
    def conditions(self) -> str:
        """The device, the element type and the sizes in one line."""
        several = "sizes" if len(self.sizes) > 1 else "size"
        sizes = f"{several} {' and '.join(self.sizes)}" if self.sizes else ""
        return ", ".join(filter(None, (self.device, self.dtype, sizes)))

    @property
    def unevaluated(self) -> int:
        """The number of samples that are in the folder and have no evaluation."""
        return sum(
            each.outcome is GenerationOutcome.NOT_EVALUATED
            for samples in self.problems.values()
            for each in samples
        )


def compute_columns(
    roots: Sequence[Path], store: Store, question: ComparisonOptions
) -> list[FolderFigures]:
    """The figures of every folder.

    Raises DeclarationError for a folder that has not been evaluated, or on several devices or at
    several sizes of which none is chosen, and for a k that is more than the samples there are.
    """
    return [_compute_column(root, store, question) for root in roots]


def count_planned_samples(root: Path) -> int:
    """Return the planned number of samples of a problem. Raise as `compute_columns`."""
    return (
        read_problems(root, None)[0].samples
        if is_kernelbench_run(root)
        else read_plan(root).samples
    )


def select_evaluations(root: Path, store: Store, question: ComparisonOptions) -> list[Evaluation]:
    """The evaluations of a folder, of one device, and of one size for each task.

    Raise as `compute_columns`.
    """
    return _select(root, store.evaluations(read_plan(root).id), question)


def _compute_column(root: Path, store: Store, question: ComparisonOptions) -> FolderFigures:
    for k in question.ks:
        count = count_planned_samples(root)
        if not 1 <= k <= count:
            raise DeclarationError(
                f"-k {k}: expected 1 to {count}, the samples of a problem in {root}"
            )
    dtype = ""
    sizes: tuple[str, ...] = ()
    if is_kernelbench_run(root):
        plan, problems, name = read_problems(root, question.timing)
    else:
        plan, found = read_plan(root), select_evaluations(root, store, question)
        written = [(each.level, each.problem, each.number) for each in find_samples(root)]
        problems = group_samples(found, plan.problems, plan.samples, question.baseline, written)
        dtype, sizes = found[0].dtype, tuple(sorted({each.size for each in found}))
        simulated = ", simulated" if find_kind(found[0].device_kind).is_simulated else ""
        name = f"{found[0].device_name}{simulated}"

    def of(level: str) -> Figures:
        mine = {key: each for key, each in problems.items() if level in (ALL, key[0])}
        return compute_figures(mine, question.thresholds, question.ks)

    named = [level for level, numbers in plan.problems.items() if numbers]
    wanted = named if len(named) == 1 else [*named, ALL]
    return FolderFigures(
        root.name or str(root),
        name,
        plan,
        {each: of(each) for each in wanted},
        problems,
        dtype,
        sizes,
    )


def _select(
    root: Path, found: Sequence[Evaluation], question: ComparisonOptions
) -> list[Evaluation]:
    """Return the evaluations of one device and dtype, and of one size for each task.

    Times of cpu and GPU never mix, nor times of a task at several sizes.
    """
    if not found:
        raise DeclarationError(
            f"{root}: nothing of it is in this store; run `metalbench evaluate {root}`, or name "
            "the store with --db"
        )
    mine = [
        each
        for each in found
        if question.device in (None, each.device_kind)
        and question.dtype in (None, each.dtype)
        and (not question.sizes or each.size in question.sizes)
    ]
    if question.sizes and not mine:
        known = ", ".join(sorted({each.size for each in found}))
        raise DeclarationError(
            f"--size {', '.join(question.sizes)}: {root} has evaluations at {known}"
        )
    kinds = sorted({(each.device_kind, each.device_name, each.dtype) for each in found})
    told = "; ".join(", ".join(each) for each in kinds)
    if len({(each.device_kind, each.device_name, each.dtype) for each in mine}) != 1:
        raise DeclarationError(
            f"{root}: expected evaluations of one device and element type, got {told}; choose with "
            "--device and --dtype"
        )
    sizes: dict[str, set[str]] = {}
    for each in mine:
        sizes.setdefault(each.task, set()).add(each.size)
    for task, of_task in sizes.items():
        if len(of_task) > 1:
            raise DeclarationError(
                f"{root}: expected evaluations of each task at one size, got {task} at "
                f"{' and '.join(sorted(of_task))}; choose with --size"
            )
    return mine
