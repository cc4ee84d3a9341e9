"""One run of a kernel under the microscope: results, guard zones, inputs, repeatability."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from metalbench.prepare import Bound
from metalbench.verify import error_rule, hints
from metalbench.verify.error_rule import Yardstick
from metalbench.verify.verdict import Comparison, Finding, Kind, Report
from metalbench.workload import Workload

RUNS = 3


@dataclass(frozen=True)
class Examiner:
    """Runs a bound kernel and judges what it left behind."""

    bound: Bound
    device: Any
    time_limit: float
    # By variation and output, measured at the first seed: MLX takes longer than all other checks,
    # and its errors differ little between seeds of one distribution.
    yardsticks: dict[str, dict[str, Yardstick]] = field(default_factory=dict)

    @property
    def _workload(self) -> Workload:
        return self.bound.workload

    def run(self) -> None:
        """Poison the outputs and run once; raises what the device raises."""
        self.bound.poison()
        self.device.run(self.bound.dispatches, time_limit=self.time_limit)

    def examine(self, *, repeat: bool) -> Report:
        """Run (three times if `repeat`), and compare everything with what it should be."""
        self.run()
        findings = self._memory()
        if findings:
            return Report(tuple(findings))
        report = self._results()
        if repeat and report.passed:
            report += Report(tuple(self._repetition()))
        return report

    def _finding(self, kind: Kind, message: str, output: str = "") -> Finding:
        work = self._workload
        sizes = ", ".join(f"{k}={v}" for k, v in work.task.sizes[work.size].items())
        seed = f"{work.seed}, {work.variation}" if work.variation else f"{work.seed}"
        text = f"[{work.task.name}] {message} (size {work.size}: {sizes}; seed {seed})"
        return Finding(kind, text, work.size, work.seed, output)

    def _memory(self) -> list[Finding]:
        findings = []
        bound = self.bound
        for name, each in {**bound.inputs, **bound.outputs, **bound.scratches}.items():
            where = each.broken_guard()
            if where:
                shape = f"{each.dtype.name} {each.shape}"
                message = f"{name}: the kernel wrote outside of {shape}, {where}"
                findings.append(self._finding(Kind.GUARD_ZONE, message, name))
        for name, each in bound.inputs.items():
            if not each.holds(self._workload.inputs[name]):
                message = f"{name}: the kernel changed its input; declare it `device const`"
                findings.append(self._finding(Kind.INPUT_CHANGED, message, name))
        return findings

    def _results(self) -> Report:
        work = self._workload
        yardsticks = self._yardsticks()
        findings, comparisons = [], []
        for name, expected in work.expected.items():
            kind = work.task.outputs[name].type_in(work.dtype)
            got, scale = self.bound.read(name), work.scale[name]
            if not kind.is_float:
                scale = expected
            allowance = error_rule.allowance_for(expected, yardsticks[name], kind)
            compared = error_rule.compare(name, got, expected, allowance=allowance, scale=scale)
            compared = replace(compared, size=work.size, seed=work.seed, dtype=kind.name)
            comparisons.append(compared)
            if not compared.passed:
                bad = error_rule.wrong(got, expected, allowance=allowance, scale=scale)
                findings.append(self._mismatch(compared, expected, bad))
        return Report(tuple(findings), tuple(comparisons))

    def _yardsticks(self) -> dict[str, Yardstick]:
        work = self._workload
        if work.variation not in self.yardsticks:
            from metalbench import reference  # and with it MLX

            self.yardsticks[work.variation] = {
                name: error_rule.yardstick(work.expected[name], each, work.scale[name])
                for name, each in reference.outputs(work, kind=self.device.kind).items()
            }
        return self.yardsticks[work.variation]

    def _mismatch(self, compared: Comparison, expected: Any, bad: Any) -> Finding:
        name = compared.output
        got, unwritten = self.bound.read(name), self.bound.outputs[name].unwritten()
        missing = bool(bad.any()) and bool(unwritten[bad].all())
        kind = Kind.NOT_WRITTEN if missing else Kind.WRONG_RESULT
        if not bad.any():
            message = (
                f"{name}: expected an rms error of at most {compared.rms_bound:.3g}, "
                f"got {compared.rms_error:.3g}; no single element is far off: precision is lost "
                "everywhere"
            )
            return self._finding(kind, message, name)
        hint = hints.describe(got, expected, bad, unwritten, self._workload.inputs)
        place = compared.index[0] if len(compared.index) == 1 else compared.index
        came = "nothing" if unwritten[compared.index] else f"{compared.got:.9g}"
        message = (
            f"{name}: expected {compared.expected:.9g} at {place}, got {came}; "
            f"{int(bad.sum())} of {bad.size} elements are wrong (allowed error there "
            f"{compared.bound:.3g})" + (f"; {hint}" if hint else "")
        )
        return self._finding(kind, message, name)

    def _repetition(self) -> list[Finding]:
        first = {name: self.bound.read(name).copy() for name in self.bound.outputs}
        for again in range(2, RUNS + 1):
            self.run()
            for name, before in first.items():
                if self.bound.outputs[name].holds(before):
                    continue
                unsigned = np.dtype(f"u{before.dtype.itemsize}")
                differs = before.view(unsigned) != self.bound.read(name).view(unsigned)
                index = tuple(int(each) for each in np.argwhere(differs)[0])
                message = (
                    f"{name}: run {again} on the same inputs differs from run 1 in "
                    f"{int(differs.sum())} elements, first at {index}: {before[index]} then "
                    f"{self.bound.read(name)[index]}; is a barrier missing?"
                )
                return [self._finding(Kind.NONDETERMINISTIC, message, name)]
        return []
