"""Test the check of a task: it must reject results that cannot be right."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from metalbench import reference
from metalbench.task import Task
from metalbench.task.dtypes import dtype
from metalbench.task.workload import Workload, workload
from metalbench.verify import seeds_for, small_sizes
from metalbench.verify.tolerance import (
    OutputTolerance,
    compare,
    derive_tolerance,
    measure_error_norms,
    model_float32_errors,
)

Array = np.ndarray[Any, Any]
# Part of the elements that the missing tile has.
_TILE = 0.01
_OTHER = "another seed's output"


@dataclass(frozen=True)
class BadResult:
    """A bad result: `values` in place of `output`, with all other outputs right."""

    name: str
    output: str
    values: Array


@dataclass(frozen=True)
class CheckTrial:
    """The outcome of one bad result at one size.

    `factor` is its error as a multiple of the tolerance, at the seed that rejected it or came
    nearest to it; infinite if results must be exact.
    """

    candidate: str
    output: str
    size: str
    rejected: bool
    factor: float


def admit(task: Task, *, sizes: Sequence[str] | None = None, seed: int = 0) -> list[CheckTrial]:
    """Try bad results against the check of `task` at `sizes`, by default all but large ones.

    A bad result that passes at one seed is tried at the other seeds of its size, as a kernel would
    be. Raises DeclarationError for an unknown size, TaskError if the task's code fails.
    """
    chosen = sizes if sizes is not None else [*small_sizes(task), task.headline]
    return [trial for size in dict.fromkeys(chosen) for trial in _try_size(task, size, seed)]


def _try_size(task: Task, size: str, seed: int) -> Iterator[CheckTrial]:
    """Yield a trial for each bad result at one size."""
    best: dict[tuple[str, str], CheckTrial] = {}
    # An output that does not depend on the inputs need not be computed.
    same = [(_OTHER, name) for name in task.outputs] if task.inputs else []
    for each in seeds_for(task, size, seed):
        check = TaskCheck(workload(task, size, seed=each))
        for candidate in _list_candidates(check.work):
            key = candidate.name, candidate.output
            if key in best and best[key].rejected:
                continue
            factor = check.factor(candidate)
            if key not in best or factor > best[key].factor:
                best[key] = CheckTrial(*key, size, factor > 1, factor)
        if all(trial.rejected for trial in best.values()) and all(key in best for key in same):
            break
    yield from best.values()
    yield from (CheckTrial(*key, size, False, 0.0) for key in same if key not in best)


@dataclass(frozen=True)
class TaskCheck:
    """The error rule, as verification applies it to one workload."""

    work: Workload

    @cached_property
    def _tolerances(self) -> dict[str, OutputTolerance]:
        work = self.work
        measured = {
            name: measure_error_norms(work.expected[name], mlx, self._scale(name))
            for name, mlx in reference.outputs(work).items()
        }
        return {
            name: derive_tolerance(
                work.expected[name], allowed, work.task.outputs[name].type_in(work.dtype)
            )
            for name, allowed in model_float32_errors(work, measured).items()
        }

    def _scale(self, name: str) -> Array:
        is_float = self.work.task.outputs[name].type_in(self.work.dtype).is_float
        return self.work.scale[name] if is_float else self.work.expected[name]

    def factor(self, candidate: BadResult) -> float:
        """Return the error of `candidate` as a multiple of the tolerance; up to 1 passes."""
        name = candidate.output
        compared = compare(
            name,
            candidate.values,
            self.work.expected[name],
            tolerance=self._tolerances[name],
            scale=self._scale(name),
        )
        return compared.ratio


def _list_candidates(work: Workload) -> Iterator[BadResult]:
    """Yield bad results for every output, without those that happen to be right."""
    later = work.seed + 100 * work.task.turn
    other = workload(work.task, work.size, dtype_name=work.dtype.name, seed=later)
    coarse = _run_oracle_in_bfloat16(work)
    for name, expected in work.expected.items():
        kind = work.task.outputs[name].type_in(work.dtype).numpy
        right = _round_to(expected, kind)
        bad = {
            "zeros": np.zeros_like(right),
            "a constant": np.full_like(right, _finite_mean(right)),
            _OTHER: _round_to(other.expected[name], kind),
            "the last tile missing": _zero_last_tile(right),
            "rows permuted": np.roll(right, 1, axis=0),
            **_copy_inputs(work, right),
        }
        if work.dtype.name != "bfloat16":
            bad["inputs in bfloat16"] = _round_to(coarse[name], kind)
            if right.dtype.kind == "f":
                stored = coarse[name].astype(dtype("bfloat16").numpy)
                bad["arithmetic in bfloat16"] = _round_to(stored.astype(np.float64), kind)
        for what, values in bad.items():
            if not np.array_equal(values, right, equal_nan=right.dtype.kind == "f"):
                yield BadResult(what, name, values)


def _copy_inputs(work: Workload, right: Array) -> dict[str, Array]:
    """Return copies of the inputs, repeated or cut to the shape of the output."""
    return {
        f"a copy of {name}": _round_to(np.resize(each, right.shape), right.dtype)
        for name, each in work.inputs.items()
    }


def _zero_last_tile(right: Array) -> Array:
    result = right.copy()
    result.reshape(-1)[-max(1, int(right.size * _TILE)) :] = 0
    return result


def _run_oracle_in_bfloat16(work: Workload) -> Mapping[str, Array]:
    """Return the oracle's results for inputs that are rounded to bfloat16."""
    coarse = dtype("bfloat16").numpy
    inputs = {}
    for name, each in work.inputs.items():
        is_float = work.task.inputs[name].type_in(work.dtype).is_float
        inputs[name] = each.astype(coarse).astype(each.dtype) if is_float else each
    return replace(work, inputs=inputs).expected


def _round_to(values: Array, kind: np.dtype[Any]) -> Array:
    with np.errstate(invalid="ignore", over="ignore"):
        return values.astype(kind)


def _finite_mean(values: Array) -> float:
    """Return 99 % of the mean of finite values: the mean of a single element would be right."""
    finite = values[np.isfinite(values)].astype(np.float64)
    return 0.99 * float(finite.mean()) if finite.size else 1.0
