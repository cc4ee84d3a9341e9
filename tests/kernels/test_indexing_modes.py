"""Gathers and scatters with modes: indices beyond tables, and updates that meet in one row."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_outputs import compute


@pytest.mark.parametrize("rows", [1, 2, 7])
@pytest.mark.parametrize("mode", ["wrap", "clip", "fill"])
def test_rows_by_all_indices_near_the_table(mode: str, rows: int) -> None:
    index = np.arange(-3 * rows - 1, 3 * rows + 2, dtype=np.int32)
    x = np.arange(1, 5 * rows + 1, dtype=np.float32).reshape(rows, 5)
    size = f"rows={rows},cols=5,count={len(index)}"
    found = compute(f"take_rows_{mode}", size, x=x, index=index)[1]["y"]
    if mode == "fill":
        expected = [x[i] if -rows <= i < rows else 0 * x[0] for i in index]
    else:
        expected = list(np.take(x, index, axis=0, mode=mode))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("name", "ufunc"), [("scatter_max", np.maximum), ("scatter_min", np.minimum)]
)
def test_extremes_of_updates_that_meet(name: str, ufunc: np.ufunc) -> None:
    random = np.random.default_rng(4)
    special = np.array([0.0, np.inf, -np.inf, 1e-45, -1e-45, 3e38, -3e38, 1, -1], np.float32)
    x = special[random.integers(0, len(special), (3, 6))]
    values = special[random.integers(0, len(special), (200, 6))]
    # The second row has no update, the last one has a single one.
    index = np.where(np.arange(200) == 77, 2, 0).astype(np.uint32)
    expected = x.copy()
    ufunc.at(expected, index, values)
    found = compute(name, "rows=3,cols=6,updates=200", x=x, index=index, values=values)[1]["y"]
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("bins", [1, 31, 4096, 4097])
def test_histograms_of_equal_and_of_all_values(bins: int) -> None:
    earlier = np.arange(bins, dtype=np.uint32)
    x = np.concatenate([np.full(3000, bins - 1), np.arange(bins)]).astype(np.uint32)
    found = compute("histogram_bins", f"n={len(x)},bins={bins}", x=x, earlier=earlier)[1]["y"]
    expected = earlier + 1
    expected[-1] += 3000
    np.testing.assert_array_equal(found, expected)
