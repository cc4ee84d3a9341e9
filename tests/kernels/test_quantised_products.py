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
    "qmm2",
    "qmm3",
    "qmm4",
    "qmm5",
    "qmm6",
    "qmm8",
    "qmm_mxfp4",
    "qmm_mxfp8",
    "qmm_n4",
    "qmm_n8",
    "qmm_nvfp4",
]
BLOCKS = [
    *("q4_0", "q4_1", "q5_0", "q5_1", "q8_0"),
    *("q2_k", "q3_k", "q4_k", "q5_k", "q6_k", "iq4_nl", "iq4_xs"),
]
OF_BLOCKS = [f"qmm_{each}" for each in BLOCKS]
FEW = ["qmm4_few", "qmm8_few", "qmm_mxfp4_few", "qmm_mxfp8_few", "qmm_nvfp4_few"]
FEW_OF_BLOCKS = [f"{each}_few" for each in OF_BLOCKS]
# Tiles of 64 within the matrix and at its edges, in every direction, and two parts of a long sum.
SIZE = "batch=70,rows=144,cols={cols}"


def test_all_products_are_tested() -> None:
    names = [each for each in LIBRARY.names("all") if each.startswith("qmm")]
    assert names == sorted([*PRODUCTS, *OF_BLOCKS, *FEW, *FEW_OF_BLOCKS])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", [*PRODUCTS, *OF_BLOCKS])
def test_products_in_short_elements_with_first_values(name: str, dtype: str) -> None:
    entry = LIBRARY.entry(name)
    builds = Builds(_core.open("cpu"), entry.kernel(), entry.task, dtype)
    size = SIZE.format(cols=512 if name in OF_BLOCKS else 320)
    report = verify(builds, VerifyPlan(sizes=[size], seeds=[0]))
    assert report.passed, report.findings


@pytest.mark.parametrize("batch", range(1, 17))
@pytest.mark.parametrize("name", [*FEW, *FEW_OF_BLOCKS])
def test_products_of_few_rows_for_every_batch(name: str, batch: int) -> None:
    """Every number of sums, full or not, and a last SIMD-group with one of its rows."""
    entry = LIBRARY.entry(name)
    builds = Builds(_core.open("cpu"), entry.kernel(), entry.task)
    size = f"batch={batch},rows=9,cols={512 if name in FEW_OF_BLOCKS else 320}"
    report = verify(builds, VerifyPlan(sizes=[size], seeds=[0]))
    assert report.passed, report.findings
