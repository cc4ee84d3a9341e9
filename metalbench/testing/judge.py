"""Judge the outputs and the memory that a kernel wrote."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from metalbench.testing.expected import Expected, Tolerance
from metalbench.testing.launch import Bound
from metalbench.verify import Comparison, Finding, Kind, error_rule
from metalbench.verify.mismatch import describe_mismatch

Array = np.ndarray[Any, Any]


def memory_findings(kernel: str, bound: Bound, written: Mapping[str, object]) -> Iterator[Finding]:
    """Writes outside of buffers, and to inputs that are not in `written`."""
    for name, memory in bound.memories.items():
        where = memory.broken_guard()
        if where:
            shape = f"{memory.dtype.name} {memory.shape}"
            message = f"[{kernel}] {name}: the kernel wrote outside of {shape}, {where}"
            yield Finding(Kind.GUARD_ZONE, message, output=name)
    for name, array in bound.arrays.items():
        if name not in written and not bound.memories[name].holds(array):
            message = (
                f"[{kernel}] {name}: the kernel changed its input; declare it `device const`, or "
                "say what is expected in it"
            )
            yield Finding(Kind.INPUT_CHANGED, message, output=name)


def judge(
    where: str,
    got: Array,
    expected: Expected,
    tolerance: Tolerance,
    *,
    unwritten: Array,
    inputs: Mapping[str, Array],
) -> tuple[Comparison | None, Finding | None]:
    """Compare one output, called `where` ("[kernel] name"), with what was expected of it."""
    kernel, _, name = where.rpartition(" ")
    if got.shape != expected.values.shape:
        message = f"{where}: expected shape {expected.values.shape}, got {got.shape}"
        return None, Finding(Kind.WRONG_RESULT, message, output=name)
    if not got.size:
        return None, None
    stored = expected.round_to(got.dtype)
    values = stored.values
    plain = got.astype(np.float64) if values.dtype.kind == "f" else got
    allowance = stored.allowance(got.dtype, tolerance)
    compared = error_rule.compare(name, plain, values, tolerance=allowance, scale=values)
    if compared.passed:
        return compared, None
    bad = error_rule.find_wrong(plain, values, tolerance=allowance, scale=values)
    kind, message = describe_mismatch(
        compared, plain, values, bad=bad, unwritten=unwritten, inputs=inputs
    )
    return compared, Finding(kind, f"{kernel} {message}", output=name)
