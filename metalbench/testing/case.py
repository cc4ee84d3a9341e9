"""One MSL kernel with what goes in and what should come out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from metalbench import _core
from metalbench.custom_kernel.element_types import narrow
from metalbench.errors import (
    CompileError,
    DeclarationError,
    KernelFault,
    TimeLimitExceeded,
    Unsupported,
    suggestion,
)
from metalbench.testing.arguments import buffers_of, dtype_of, read_inputs
from metalbench.testing.checked import Checked
from metalbench.testing.expected import Expected, Tolerance, compute_expected
from metalbench.testing.judge import judge, memory_findings
from metalbench.testing.launch import Bound, Build, Grid, bind
from metalbench.verify import Kind
from metalbench.verify.faults import make_finding

# Errors of the kernel, which become findings; other errors are raised.
FAULTS = (CompileError, KernelFault, TimeLimitExceeded)


@dataclass(frozen=True)
class Case:
    """One MSL kernel with what goes in and what should come out."""

    build: Build
    grid: Grid
    inputs: Mapping[str, Any]
    expected: Any
    tolerance: Tolerance
    time_limit: float

    def check(self, device: _core.Device, *, checked: bool) -> Checked:
        """Run the checked build, then the kernel on a device without checked builds."""
        if not checked:
            return self._run(device)
        safe = device if device.checked_builds else _core.open("cpu")
        found = self._run(safe, checked=True)
        if safe is device:
            return found
        beyond = tuple(each.message for each in found.findings if each.kind is Kind.UNSUPPORTED)
        if found.findings and not beyond:
            return found
        return replace(self._run(device), skipped=beyond)

    def _run(self, device: _core.Device, *, checked: bool = False) -> Checked:
        build = self.build
        found = Checked(build.function or Path(build.source.filename).name, source=build.source)
        try:
            pipeline = build.pipeline(device, checked=checked)
            found = replace(found, kernel=pipeline.name)
            inputs = read_inputs(pipeline, self.inputs)
            expected = self._outputs(pipeline, inputs)
            bound = bind(device, pipeline, inputs, _memory_of(pipeline, expected), self.grid)
            device.run([bound.dispatch], time_limit=self.time_limit)
        except (*FAULTS, Unsupported) as error:
            return replace(found, findings=(make_finding(error),))
        return self._judge(found, bound, expected)

    def _judge(self, found: Checked, bound: Bound, expected: Mapping[str, Expected]) -> Checked:
        outputs = {name: bound.memories[name].array for name in expected}
        strays = tuple(memory_findings(found.kernel, bound, expected))
        if strays:
            return replace(found, outputs=outputs, findings=strays)
        judged = [
            judge(
                f"[{found.kernel}] {name}",
                outputs[name],
                each,
                self.tolerance,
                unwritten=bound.memories[name].unwritten(),
                inputs=bound.arrays,
            )
            for name, each in expected.items()
        ]
        return found.with_judged(outputs, judged)

    def _outputs(self, pipeline: _core.Pipeline, inputs: Mapping[str, Any]) -> dict[str, Expected]:
        buffers = buffers_of(pipeline)
        writable = [name for name, each in buffers.items() if each.access != "read"]
        names = [name for name in writable if name not in inputs] or writable
        found = compute_expected(self.expected, inputs, names)
        for name in found:
            if name not in writable:
                raise DeclarationError(
                    f"[{pipeline.name}] expected: the kernel writes no {name!r}; "
                    f"{suggestion(name, writable)}"
                )
        return found


def _memory_of(
    pipeline: _core.Pipeline, expected: Mapping[str, Expected]
) -> dict[str, tuple[tuple[int, ...], np.dtype[Any]]]:
    buffers = buffers_of(pipeline)
    return {
        name: (each.values.shape, dtype_of(buffers[name]) or narrow(each.values[:0]).dtype)
        for name, each in expected.items()
    }
