"""Bodies of all levels give what the published modules give, where a checkout of those is at hand.

`METALBENCH_KERNELBENCH=.../KernelBench pytest -m slow tests/kernelbench/problems` names the folder
that holds level1, level2 and level3.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from problems.against_pytorch import NEAR, Unmatched, largest_difference

from metalbench.kernel.library import Entry, find

FOLDER = os.environ.get("METALBENCH_KERNELBENCH", "")


@pytest.mark.slow
@pytest.mark.skipif(not FOLDER, reason="METALBENCH_KERNELBENCH names no checkout")
@pytest.mark.parametrize("entry", find((), "kernelbench"), ids=lambda each: each.name)
def test_the_results_are_the_published_modules(entry: Entry) -> None:
    pytest.importorskip("torch", reason="extra kernelbench")
    try:
        difference = largest_difference(entry, Path(FOLDER))
    except Unmatched:
        pytest.skip("the published file's extents are not those of any size of ours")
    assert difference < NEAR
