"""Check Python code that calls `mx.fast.metal_kernel`, on the engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from metalbench.custom_kernel import patched_mlx
from metalbench.custom_kernel.arrays import as_numpy
from metalbench.errors import DeclarationError
from metalbench.testing.case import FAULTS
from metalbench.testing.checked import Checked
from metalbench.testing.expected import Tolerance, compute_expected
from metalbench.testing.judge import judge
from metalbench.verify.faults import make_finding


def check_python(
    kernel: Callable[..., Any],
    inputs: Mapping[str, Any],
    expected: Any,
    tolerance: Tolerance,
    *,
    checked: bool,
    time_limit: float,
) -> Checked:
    """Call a function over `mx.fast.metal_kernel` with the inputs, and judge what it returns."""
    found = Checked(getattr(kernel, "__name__", "kernel"))
    try:
        with patched_mlx(device="cpu", checked=checked, time_limit=time_limit):
            results = _several(kernel(**inputs))
    except FAULTS as error:
        return replace(found, findings=(make_finding(error),))
    names = [f"output{index}" for index in range(len(results))] if len(results) > 1 else ["output"]
    outputs = {
        name: as_numpy(each, f"[{found.kernel}] {name}")
        for name, each in zip(names, results, strict=True)
    }
    wanted = compute_expected(expected, inputs, names)
    if set(wanted) != set(names):
        raise DeclarationError(
            f"[{found.kernel}] expected: expected {', '.join(names)}, got {', '.join(wanted)}"
        )
    judged = [
        judge(
            f"[{found.kernel}] {name}",
            got,
            wanted[name],
            tolerance,
            unwritten=np.zeros(got.shape, bool),
            inputs={},
        )
        for name, got in outputs.items()
    ]
    return found.with_judged(outputs, judged)


def _several(results: Any) -> list[Any]:
    return list(results) if isinstance(results, (tuple, list)) else [results]
