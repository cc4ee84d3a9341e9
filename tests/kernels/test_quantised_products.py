"""Products with weights of few bits, in elements of two bytes, with an Apple GPU's values.

Tiles that lie within the weights load them otherwise than tiles at an edge. The smallest sizes of
the tasks have no such tile where tiles are as large as on a GPU.
"""

from __future__ import annotations

import pytest

from metalbench import _core
from metalbench.kernel.library import Library
from metalbench.kernel.prepare import Builds
from metalbench.verify import VerifyPlan, verify

LIBRARY = Library()
PRODUCTS = [
    "qmm3",
    "qmm4",
    "qmm6",
    "qmm8",
    "qmm_mxfp4",
    "qmm_mxfp8",
    "qmm_n4",
    "qmm_n8",
    "qmm_nvfp4",
]
# Tiles of 64 within the matrix and at its edges, in every direction, and two parts of a long sum.
SIZE = "batch=70,rows=144,cols=320"


def test_all_products_are_tested() -> None:
    assert [each for each in LIBRARY.names("all") if each.startswith("qmm")] == PRODUCTS


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", PRODUCTS)
def test_products_in_short_elements_with_first_values(name: str, dtype: str) -> None:
    entry = LIBRARY.entry(name)
    builds = Builds(_core.open("cpu"), entry.kernel(), entry.task, dtype)
    report = verify(builds, VerifyPlan(sizes=[SIZE], seeds=[0]))
    assert report.passed, report.findings
