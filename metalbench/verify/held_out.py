"""Verify a kernel in held-out cases: sizes, inputs and memory that its author has not seen.

A case in which another kernel of the task fails, too, says nothing about the kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from metalbench.errors import MetalBenchError, TaskError
from metalbench.kernel.memory import GUARD_BYTES
from metalbench.kernel.prepare import Builds, Compiled
from metalbench.task import Task
from metalbench.task.inputs import STANDARD, Input, Variation
from metalbench.task.workload import workload
from metalbench.verify.checked import verify_checked
from metalbench.verify.examine import ReferenceErrors, stays_finite
from metalbench.verify.flow import VerifyPlan, verify_compiled
from metalbench.verify.report import Report

# Buffers at these offsets are aligned to 16 bytes, and to no larger power of two. Kernels may rely
# on 16 bytes: vectors of four floats need them.
OFFSET_BYTES = GUARD_BYTES - 240
Values = np.ndarray[Any, Any]


def _order(values: Values, _: np.random.Generator) -> Values:
    return np.sort(values, axis=None).reshape(values.shape)


def _reverse(values: Values, random: np.random.Generator) -> Values:
    return np.ascontiguousarray(_order(values, random).reshape(-1)[::-1]).reshape(values.shape)


def _repeat_one(values: Values, _: np.random.Generator) -> Values:
    return np.full_like(values, values.reshape(-1)[0] if values.size else 0)


def _scale_rows(values: Values, random: np.random.Generator) -> Values:
    """Multiply each row by a power of two between 1/64 and 64."""
    shape = (*values.shape[:-1], 1) if values.ndim > 1 else values.shape
    return values * np.exp2(random.integers(-6, 7, size=shape)).astype(np.float32)


def _end_in_largest(values: Values, _: np.random.Generator) -> Values:
    """Swap the largest magnitude of each row with its last element."""
    changed = values.copy().reshape(-1, values.shape[-1] if values.ndim else 1)
    rows = np.arange(len(changed))
    largest = np.abs(changed).argmax(axis=-1)
    changed[rows, largest], changed[rows, -1] = changed[rows, -1].copy(), changed[rows, largest]
    return changed.reshape(values.shape)


# Other orders and repeats of the same values, for all inputs whose elements are exchangeable.
ORDERS = (
    Variation("ascending", _order),
    Variation("descending", _reverse),
    Variation("of one value", _repeat_one),
    Variation("largest last", _end_in_largest),
)
# Other values, for inputs from the normal distribution, which may have any value.
MAGNITUDES = (
    Variation("negative", lambda values, _: -np.abs(values)),
    Variation("positive", lambda values, _: np.abs(values)),
    Variation("large", lambda values, _: values * np.float32(24)),
    Variation("huge", lambda values, _: values * np.float32(2**20)),
    Variation("small", lambda values, _: values * np.float32(2**-12)),
    Variation("tiny", lambda values, _: values * np.float32(2**-30)),
    Variation("rows of other magnitudes", _scale_rows),
)
CHANGES = MappingProxyType({each.name: each for each in (*ORDERS, *MAGNITUDES)})


@dataclass(frozen=True)
class HeldOut:
    """Held-out cases in addition to the timed size.

    Attributes
    ----------
    sizes
        Sizes at which results are verified.
    checked_sizes
        Those of `sizes` that are small enough for a checked build.
    changes
        Names of `CHANGES` of the inputs.
    changed_sizes
        Sizes at which results are verified for each change.
    """

    sizes: tuple[str, ...] = ()
    checked_sizes: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    changed_sizes: tuple[str, ...] = ()


def change_task(task: Task, name: str) -> Task | None:
    """Return the task with inputs of another distribution; None if no input may have it.

    Inputs of the other kinds stay plain. At odd seeds the changed inputs have the change.
    """
    change = CHANGES[name]
    changed = {each: given.only() for each, given in task.inputs.items()}
    found = False
    for each, given in task.inputs.items():
        if _can_have(given, change):
            changed[each] = given.only(change)
            found = True
    return replace(task, inputs=changed) if found else None


def _can_have(given: Input, change: Variation) -> bool:
    if not given.exchangeable or given.stream or given.together or given.pixel_format:
        return False
    # Only inputs that may have any value have the standard variations.
    return change in ORDERS or set(STANDARD) <= set(given.variations)


@dataclass(frozen=True)
class HeldOutVerifier:
    """Verifies a kernel in held-out cases; `other` is a kernel that is known to be right elsewhere.

    `seed` is the first seed of the inputs. `reference_errors` are as in `VerifyPlan`.
    """

    builds: Builds
    other: Builds
    seed: int
    reference_errors: dict[str, ReferenceErrors] = field(default_factory=dict)

    def verify(self, cases: HeldOut, timed: str) -> Report:
        """Verify at the timed size and in all cases; return the first report with findings."""
        checks: list[Callable[[Builds], Report]] = [
            lambda builds: self._at(builds.plain, timed, timed=timed),
            lambda builds: self._elsewhere(builds.plain, timed),
            *(self._at_size(size) for size in cases.sizes),
            *(self._check_size(size) for size in cases.checked_sizes),
            *self._check_changes(cases),
        ]
        for check in checks:
            report = check(self.builds)
            if not report.passed and self._passes_other(check):
                return report
        return Report()

    def passes_other_at(self, size: str) -> bool:
        """Return whether the other kernel is right at a size, so that it can be timed there."""
        return self._passes_other(lambda builds: self._at_seed(builds.plain, size, self.seed))

    def _passes_other(self, check: Callable[[Builds], Report]) -> bool:
        try:
            return check(self.other).passed
        except TaskError:
            raise
        except MetalBenchError:
            return False

    def _at_size(self, size: str) -> Callable[[Builds], Report]:
        return lambda builds: self._at(builds.plain, size)

    def _check_size(self, size: str) -> Callable[[Builds], Report]:
        return lambda builds: verify_checked(builds, sizes=[size], seed=self.seed)

    def _at(self, compiled: Compiled, size: str, *, timed: str | None = None) -> Report:
        plan = VerifyPlan(
            sizes=[size], seed=self.seed, timed=timed, reference_errors=self.reference_errors
        )
        return verify_compiled(compiled, plan)

    def _elsewhere(self, compiled: Compiled, size: str) -> Report:
        """Verify with buffers that are less aligned."""
        return self._at_seed(replace(compiled, guard_bytes=OFFSET_BYTES), size, self.seed)

    def _at_seed(self, compiled: Compiled, size: str, seed: int) -> Report:
        plan = VerifyPlan(
            sizes=[size], seeds=[seed], repeat=False, reference_errors=self.reference_errors
        )
        return verify_compiled(compiled, plan)

    def _check_changes(self, cases: HeldOut) -> Iterator[Callable[[Builds], Report]]:
        seed = 2 * self.seed + 1
        for name in cases.changes:
            task = change_task(self.builds.task, name)
            if task is None:
                continue
            for size in cases.changed_sizes:
                if self._has_finite_results(task, size, seed):
                    yield self._with_task(task, size, seed)

    def _with_task(self, task: Task, size: str, seed: int) -> Callable[[Builds], Report]:
        return lambda builds: self._at_seed(replace(builds.plain, task=task), size, seed)

    def _has_finite_results(self, task: Task, size: str, seed: int) -> bool:
        """Return whether inputs and results of a change are in the range of their type."""
        work = workload(task, size, dtype_name=self.builds.dtype_name, seed=seed)
        with np.errstate(all="ignore"):
            try:
                finite = all(
                    np.isfinite(each.astype(np.float32)).all() for each in work.inputs.values()
                )
                return finite and stays_finite(work)
            except TaskError:
                return False  # the oracle does not take such inputs
