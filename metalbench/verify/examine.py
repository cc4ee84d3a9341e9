"""One run of a kernel under the microscope: results, guard zones, inputs, repeatability."""

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
from metalbench.verify.explanation import explanation
from metalbench.verify.mismatch import mismatch
from metalbench.verify.rounding_model import model_float32_errors
from metalbench.verify.verdict import Comparison, Finding, Report


@dataclass
class ReferenceErrors:
    """What is known of the reference at one size and element type.

    `errors` are by variation of the inputs and by output, and `seeds`, by variation, those of the
    inputs that they were measured with; `pass_s` is the shortest time in seconds that computing the
    outputs took, infinite if that has not been done. Nobody saw to it that nothing else ran then.
    """

    errors: dict[str, dict[str, ErrorNorms]] = field(default_factory=dict)
    seeds: dict[str, int] = field(default_factory=dict)
    pass_s: float = math.inf


@dataclass(frozen=True)
class Examiner:
    """Runs a bound kernel and judges what it left behind."""

    bound: Bound
    device: Any
    time_limit: float
    # Measured at the first seed of each variation: MLX takes longer than all other checks, and its
    # errors differ little between seeds of most distributions. What fails by those of another seed
    # is judged by its own.
    reference_errors: ReferenceErrors = field(default_factory=ReferenceErrors)
    # Where given, repeated runs also take place in other memory.
    compiled: Compiled | None = None

    @property
    def workload(self) -> Workload:
        """What the bound kernel works on."""
        return self.bound.workload

    def run(self, turn: int = 0) -> None:
        """Poison the outputs, in one way or another by `turn`, and run; raises as the device."""
        self.bound.poison(self.workload.seed + turn)
        self.rerun()

    def rerun(self) -> None:
        """Run in memory as it is."""
        self.device.run(self.bound.dispatches, time_limit=self.time_limit)

    def examine(self) -> Report:
        """Run once, and compare everything with what it should be."""
        self.run()
        return self.judge_last_run()

    def judge_last_run(self) -> Report:
        """Compare everything with what it should be, as the last run left it."""
        findings = self.memory()
        return Report(tuple(findings)) if findings else self._results()

    def make_finding(self, kind: Kind, message: str, output: str = "") -> Finding:
        """A finding whose message says at which task, size and seed."""
        work = self.workload
        size = work.size
        if not is_spelled(size):
            size += ": " + ", ".join(f"{k}={v}" for k, v in work.task.extents(size).items())
        seed = f"{work.seed}, {work.variation}" if work.variation else f"{work.seed}"
        text = f"[{work.task.name}] {message} (size {size}; seed {seed})"
        return Finding(kind, text, work.size, work.seed, output)

    def memory(self) -> list[Finding]:
        """What is wrong with guard zones and inputs after a run."""
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

    def _results(self) -> Report:
        """Return the comparisons; findings are those of the widest tolerance that applies."""
        for work, reference_errors in self._allowed_errors():
            compared = self._compared(work, reference_errors)
            if all(each.passed for each, _ in compared):
                return Report((), tuple(each for each, _ in compared))
        # Last, because to explain a finding the kernel may have to run again.
        findings = [
            self._mismatch(work, each, tolerance) for each, tolerance in compared if not each.passed
        ]
        return Report(tuple(findings), tuple(each for each, _ in compared))

    def _allowed_errors(self) -> Iterator[tuple[Workload, dict[str, ErrorNorms]]]:
        """Yield what to compare with and the reference's errors, from narrow and cheap on."""
        work = self.workload
        yield work, self._reference_errors()
        if self.reference_errors.seeds.get(work.variation, work.seed) != work.seed:
            yield work, self._measured()
        if work.size not in work.task.judges:
            # MLX may have been fortunate with these inputs.
            yield work, model_float32_errors(work, self._reference_errors())
            return
        # The reference may be what is off: MLX's variance of two million numbers about 100 is so by
        # a part in a thousand. Some oracles are not made for all sizes.
        with suppress(TaskError):
            errors = self._errors_of_judge()
            yield work.by_oracle, errors

    def _compared(
        self, work: Workload, reference_errors: dict[str, ErrorNorms]
    ) -> list[tuple[Comparison, OutputTolerance]]:
        """Compare what was left behind with what `work` expects."""
        comparisons = []
        for name, expected in work.expected.items():
            kind = work.task.outputs[name].type_in(work.dtype)
            # A copy: what is compared is to be the same to the end.
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

    def _errors_of_judge(self) -> dict[str, ErrorNorms]:
        """How far what judges here in the oracle's place is from the oracle."""
        told, exact = self.workload, self.workload.by_oracle
        return {
            name: error_rule.measure_error_norms(exact.expected[name], each, exact.scale[name])
            for name, each in told.expected.items()
        }

    def _reference_errors(self) -> dict[str, ErrorNorms]:
        work, known = self.workload, self.reference_errors
        if work.variation not in known.errors and work.size in work.task.judges:
            # Who errs there as well, nobody knows how far.
            widest = {
                name: error_rule.largest_counted_norms(work.scale[name]) for name in work.expected
            }
            known.errors[work.variation] = widest
        if work.variation not in known.errors:
            self._measured()
        return known.errors[work.variation]

    def _measured(self) -> dict[str, ErrorNorms]:
        """How far the reference is off for these very inputs."""
        from metalbench import reference  # and with it MLX

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
        """What still holds the poison after another run: sums of a NaN and numbers hold NaN too."""
        self.run(1)
        return self.bound.outputs[name].unwritten()

    def _mismatch(
        self, work: Workload, compared: Comparison, tolerance: OutputTolerance
    ) -> Finding:
        name = compared.output
        expected, scale = work.expected[name], self._scale(work, name)
        got, unwritten = self.bound.read(name).copy(), self.bound.outputs[name].unwritten()
        bad = error_rule.find_wrong(got, expected, tolerance=tolerance, scale=scale)
        if bad.any() and unwritten[bad].any():
            unwritten = unwritten & self._find_unwritten_after_another_run(name)
        kind, message = mismatch(
            compared,
            got,
            expected,
            bad=bad,
            unwritten=unwritten,
            inputs=self.workload.inputs,
        )
        if bad.any() and not unwritten[bad].any():
            explained = explanation(self.workload, name, got, bad)
            message += f"; {explained}" if explained else ""
        return self.make_finding(kind, message, name)
