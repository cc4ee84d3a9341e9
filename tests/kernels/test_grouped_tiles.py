"""Products of rows that are sorted by expert, with many experts and with few rows."""

from __future__ import annotations

import pytest

from metalbench import _core
from metalbench.kernel.library import Library
from metalbench.kernel.prepare import Builds
from metalbench.verify import VerifyPlan, verify

LIBRARY = Library()


PLAIN = "rows={rows},experts={experts},features=5,inner=4"
QUANTISED = "tokens={rows},experts={experts},rows=5,cols=128"


@pytest.mark.parametrize(
    ("name", "extents"),
    [("gather_mm_sorted", PLAIN), ("moe_swiglu", PLAIN)]
    + [
        (f"gather_qmm{kind}_sorted", QUANTISED)
        for kind in ("3", "4", "6", "8", "_mxfp4", "_mxfp8", "_nvfp4")
    ],
)
@pytest.mark.parametrize(
    ("rows", "experts"), [(40, 1), (64, 2), (700, 32), (200, 33), (3, 1024), (90, 1025), (1, 2100)]
)
def test_every_row_is_in_one_tile(name: str, extents: str, rows: int, experts: int) -> None:
    entry = LIBRARY.entry(name)
    size = extents.format(rows=rows, experts=experts)
    plan = VerifyPlan(sizes=[size], seeds=[0, 1])
    report = verify(Builds(_core.open("cpu"), entry.kernel(), entry.task), plan)
    assert report.passed, report.findings
