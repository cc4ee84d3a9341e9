"""Products of rows that are sorted by expert, with many experts and with few rows."""

from __future__ import annotations

import pytest

from metalbench import _core
from metalbench.kernel.library import Library
from metalbench.kernel.prepare import Builds
from metalbench.verify import VerifyPlan, verify

LIBRARY = Library()


@pytest.mark.parametrize("name", ["gather_mm_sorted", "moe_swiglu"])
@pytest.mark.parametrize(
    ("rows", "experts"), [(40, 1), (64, 2), (700, 32), (200, 33), (3, 1024), (90, 1025), (1, 2100)]
)
def test_every_row_is_in_one_tile(name: str, rows: int, experts: int) -> None:
    entry = LIBRARY.entry(name)
    size = f"rows={rows},experts={experts},features=5,inner=4"
    plan = VerifyPlan(sizes=[size], seeds=[0, 1])
    report = verify(Builds(_core.open("cpu"), entry.kernel(), entry.task), plan)
    assert report.passed, report.findings
