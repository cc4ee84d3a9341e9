"""Examine one run of a kernel: results, guard zones and inputs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

from metalbench.errors import TaskError
from metalbench.kernel.prepare import Bound, Compiled
from metalbench.kind import Kind
from metalbench.task.sizes import is_spelled
from metalbench.task.workload import Workload
from metalbench.verify import error_rule
from metalbench.verify.error_rule import ErrorNorms, OutputTolerance
from metalbench.verify.explanation import find_explanation
from metalbench.verify.mismatch import describe_mismatch
from metalbench.verify.rounding_model import model_float32_errors
from metalbench.verify.verdict import Comparison, Finding, Report


@dataclass
class ReferenceErrors:
    """The measured errors of the reference at one size and element type.

    `errors` are by variation of the inputs and by output. `seeds` are, by variation, the seeds of
    the inputs. `pass_s` is the shortest time in s of computing the outputs, infinite if unknown;
    other work may have run at the same time.
    """

    errors: dict[str, dict[str, ErrorNorms]] = field(default_factory=dict)
    seeds: dict[str, int] = field(default_factory=dict)
    pass_s: float = math.inf


@dataclass(frozen=True)
class Examiner:
    """Runs a bound kernel and judges the contents of its buffers."""

    bound: Bound
    device: Any
    time_limit: float
    # Measured at the first seed of each variation: MLX takes longer than all other checks, and for
    # most distributions its errors differ little between seeds. A result that fails by these errors
    # is judged again by those of its seed.
    reference_errors: ReferenceErrors = field(default_factory=ReferenceErrors)
    # If given, repeated runs also use other judge_memory.
    compiled: Compiled | None = None

    @property
    def workload(self) -> Workload:
        """The workload of the bound kernel."""
        return self.bound.workload

    def run(self, turn: int = 0) -> None:
        """Poison the outputs with a pattern that depends on `turn`, and run."""
        self.bound.poison(self.workload.seed + turn)
        self.rerun()

    def rerun(self) -> None:
        """Run without changing judge_memory first."""
        self.device.run(self.bound.dispatches, time_limit=self.time_limit)

    def examine(self) -> Report:
        """Run once and judge outputs, guard zones and inputs."""
        self.run()
        return self.judge_last_run()

    def judge_last_run(self) -> Report:
        """Judge outputs, guard zones and inputs as the last run left them."""
        findings = self.judge_memory()
        return Report(tuple(findings)) if findings else self._judge_outputs()

    def make_finding(self, kind: Kind, message: str, output: str = "") -> Finding:
        """Return a finding whose message names task, size and seed."""
        work = self.workload
        size = work.size
        if not is_spelled(size):
            size += ": " + ", ".join(f"{k}={v}" for k, v in work.task.extents(size).items())
        seed = f"{work.seed}, {work.variation}" if work.variation else f"{work.seed}"
        text = f"[{work.task.name}] {message} (size {size}; seed {seed})"
        return Finding(kind, text, work.size, work.seed, output)

    def judge_memory(self) -> list[Finding]:
        """Return findings about guard zones and inputs after a run."""
        findings = []
        bound = self.bound
        for name, each in {**bound.inputs, **bound.outputs, **bound.scratches}.items():
            where = each.broken_guard()
            if where:
                shape = f"{each.dtype.name} {each.shape}"
                message = f"{name}: the kernel wrote outside of {shape}, {where}"
                findings.append(self.make_finding(Kind.GUARD_ZONE, message, name))
        for name, each in bound.inputs.items():
            if not each.holds(self.workload.inputs[name]):
                message = f"{name}: the kernel changed its input; declare it `device const`"
                findings.append(self.make_finding(Kind.INPUT_CHANGED, message, name))
        return findings

    def _judge_outputs(self) -> Report:
        """Compare the outputs; findings are by the widest tolerance that applies."""
        for work, reference_errors in self._list_tolerances():
            compared = self._compare(work, reference_errors)
            if all(each.passed for each, _ in compared):
                return Report((), tuple(each for each, _ in compared))
        # Last, because the explanation of a finding may run the kernel again.
        findings = [
            self._describe_mismatch(work, each, tolerance)
            for each, tolerance in compared
            if not each.passed
        ]
        return Report(tuple(findings), tuple(each for each, _ in compared))

    def _list_tolerances(self) -> Iterator[tuple[Workload, dict[str, ErrorNorms]]]:
        """Yield workloads to compare with and errors of the reference, narrow ones first."""
        work = self.workload
        yield work, self._find_reference_errors()
        if self.reference_errors.seeds.get(work.variation, work.seed) != work.seed:
            yield work, self._measure_reference()
        if work.size not in work.task.judges:
            # MLX's errors may be small by chance for these inputs.
            yield work, model_float32_errors(work, self._find_reference_errors())
            return
        # The judging reference itself may be wrong: MLX's variance of two million numbers about 100
        # is off by a thousandth. Some oracles do not support all sizes.
        with suppress(TaskError):
            errors = self._measure_judge()
            yield work.by_oracle, errors

    def _compare(
        self, work: Workload, reference_errors: dict[str, ErrorNorms]
    ) -> list[tuple[Comparison, OutputTolerance]]:
        """Compare the outputs of the last run with those that `work` expects."""
        comparisons = []
        for name, expected in work.expected.items():
            kind = work.task.outputs[name].type_in(work.dtype)
            # A copy, so that the compared values do not change meanwhile.
            got, scale = self.bound.read(name).copy(), self._scale(work, name)
            tolerance = error_rule.derive_tolerance(expected, reference_errors[name], kind)
            compared = error_rule.compare(name, got, expected, tolerance=tolerance, scale=scale)
            compared = replace(compared, size=work.size, seed=work.seed, dtype=kind.name)
            comparisons.append((compared, tolerance))
        return comparisons

    @staticmethod
    def _scale(work: Workload, name: str) -> Any:
        is_float = work.task.outputs[name].type_in(work.dtype).is_float
        return work.scale[name] if is_float else work.expected[name]

    def _measure_judge(self) -> dict[str, ErrorNorms]:
        """Return the errors of the reference that judges in place of the oracle."""
        judged, exact = self.workload, self.workload.by_oracle
        return {
            name: error_rule.measure_error_norms(exact.expected[name], each, exact.scale[name])
            for name, each in judged.expected.items()
        }

    def _find_reference_errors(self) -> dict[str, ErrorNorms]:
        work, known = self.workload, self.reference_errors
        if work.variation not in known.errors and work.size in work.task.judges:
            # The reference is the judge there, so its error is unknown.
            widest = {
                name: error_rule.largest_counted_norms(work.scale[name]) for name in work.expected
            }
            known.errors[work.variation] = widest
        if work.variation not in known.errors:
            self._measure_reference()
        return known.errors[work.variation]

    def _measure_reference(self) -> dict[str, ErrorNorms]:
        """Measure and return the errors of the reference for these inputs."""
        from metalbench import reference  # imports MLX

        work, known = self.workload, self.reference_errors
        start = perf_counter()
        outputs = reference.outputs(work, kind=self.device.kind)
        known.pass_s = min(known.pass_s, perf_counter() - start)
        known.seeds[work.variation] = work.seed
        known.errors[work.variation] = {
            name: error_rule.measure_error_norms(work.expected[name], each, work.scale[name])
            for name, each in outputs.items()
        }
        return known.errors[work.variation]

    def _find_unwritten_after_another_run(self, name: str) -> Any:
        """Run with another poison; return where it remains. NaN, the first one, may be a result."""
        self.run(1)
        return self.bound.outputs[name].unwritten()

    def _describe_mismatch(
        self, work: Workload, compared: Comparison, tolerance: OutputTolerance
    ) -> Finding:
        name = compared.output
        expected, scale = work.expected[name], self._scale(work, name)
        got, unwritten = self.bound.read(name).copy(), self.bound.outputs[name].unwritten()
        bad = error_rule.find_wrong(got, expected, tolerance=tolerance, scale=scale)
        if bad.any() and unwritten[bad].any():
            unwritten = unwritten & self._find_unwritten_after_another_run(name)
        kind, message = describe_mismatch(
            compared,
            got,
            expected,
            bad=bad,
            unwritten=unwritten,
            inputs=self.workload.inputs,
        )
        if bad.any() and not unwritten[bad].any():
            explained = find_explanation(self.workload, name, got, bad)
            message += f"; {explained}" if explained else ""
        return self.make_finding(kind, message, name)
