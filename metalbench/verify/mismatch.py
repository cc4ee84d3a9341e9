"""Describe an output that exceeds its tolerance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from metalbench.kind import Kind
from metalbench.verify import hints
from metalbench.verify.verdict import Comparison

Array = np.ndarray[Any, Any]


def describe_mismatch(
    compared: Comparison,
    got: Array,
    expected: Array,
    *,
    bad: Array,
    unwritten: Array,
    inputs: Mapping[str, Array],
) -> tuple[Kind, str]:
    """Return kind and message: expected and actual value, extent of the error, a likely cause.

    `bad` marks the elements beyond their bound, `unwritten` those that were not written.
    """
    name = compared.output
    missing = bool(bad.any()) and bool(unwritten[bad].all())
    kind = Kind.NOT_WRITTEN if missing else Kind.WRONG_RESULT
    if not bad.any():
        return kind, (
            f"{name}: expected an rms error of at most {compared.rms_bound:.3g}, "
            f"got {compared.rms_error:.3g}; no single element is far off: precision is lost "
            "everywhere"
        )
    hint = hints.describe(got, expected, bad, unwritten, inputs)
    place = compared.index[0] if len(compared.index) == 1 else compared.index
    came = "nothing" if unwritten[compared.index] else f"{compared.got:.9g}"
    return kind, (
        f"{name}: expected {compared.expected:.9g} at {place}, got {came}; "
        f"{int(bad.sum())} of {bad.size} elements are wrong (allowed error there "
        f"{compared.bound:.3g})" + (f"; {hint}" if hint else "")
    )
