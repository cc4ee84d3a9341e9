"""Products with weights of few bits, in elements of two bytes, with an Apple GPU's values.

Tiles that lie within the weights load them otherwise than tiles at an edge. The smallest sizes of
the tasks have no such tile where tiles are as large as on a GPU.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from short_form import is_in_sample

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
QUICK = 9  # the sample of the short form has one case of bfloat16 in this number


def cases() -> Iterator[object]:
    """Yield all products in halves. The other type has the same code, and compiles longer."""
    for name in PRODUCTS:
        yield pytest.param(name, "float16", id=name)
    for name in PRODUCTS:
        marks = () if is_in_sample(f"bfloat16-{name}", QUICK) else pytest.mark.slow
        yield pytest.param(name, "bfloat16", id=f"{name}-bfloat16", marks=marks)


def test_all_products_are_tested() -> None:
    assert PRODUCTS == [each for each in LIBRARY.names("all") if each.startswith("qmm")]


@pytest.mark.parametrize(("name", "dtype"), list(cases()))
def test_products_in_short_elements_with_first_values(name: str, dtype: str) -> None:
    entry = LIBRARY.entry(name)
    builds = Builds(_core.open("cpu"), entry.kernel(), entry.task, dtype)
    report = verify(builds, VerifyPlan(sizes=[SIZE], seeds=[0]))
    assert report.passed, report.findings
