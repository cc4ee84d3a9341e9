"""Rotary embeddings of texts as long as those that are timed, in fewer heads.

An angle of 4000 in float32 has an error of 1e-4, so that sizes with small angles say
nothing about these.
"""

from __future__ import annotations

import pytest

from metalbench import _core
from metalbench.kernel.library import Library
from metalbench.kernel.prepare import Builds
from metalbench.verify import VerifyPlan, verify

LIBRARY = Library()
ROTATIONS = [
    name for name in LIBRARY.names("rope") if "tokens" in LIBRARY.entry(name).task.sizes["large"]
]


@pytest.mark.parametrize("name", ROTATIONS)
def test_far_positions_are_right(name: str) -> None:
    entry = LIBRARY.entry(name)
    large = {**entry.task.sizes["large"], "heads": 2}
    size = ",".join(f"{axis}={extent}" for axis, extent in large.items())
    report = verify(Builds(_core.open("cpu"), entry.kernel(), entry.task), VerifyPlan(sizes=[size]))
    assert report.passed, report.findings
