"""Sorts of long rows at the ends of blocks, for special values, and in the worst orders."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from kernel_outputs import LIBRARY, compute

from metalbench import _core
from metalbench.kernel.prepare import Builds
from metalbench.task.dtypes import dtype as element_type
from metalbench.verify import verify_checked

# Keys of a threadgroup with 8 a thread, which is the default.
BLOCK = 2048


def orders(count: int) -> dict[str, np.ndarray]:
    """Integers whose digits are all equal, ascend, descend, or differ in one byte only."""
    ascending = np.arange(count, dtype=np.int32) - count // 2
    return {
        "equal": np.full(count, -7, np.int32),
        "ascending": ascending,
        "descending": ascending[::-1].copy(),
        "last byte": (ascending % 3) << 24,
        "extremes": np.where(ascending % 2, np.int32(2**31 - 1), np.int32(-(2**31))),
    }


@pytest.mark.parametrize("count", [1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 5])
def test_sort_and_argsort_of_integers(count: int) -> None:
    x = np.stack(list(orders(count).values()))
    size = f"rows={len(x)},cols={count}"
    found = compute("sort_long_int32", size, x=x)[1]["y"]
    np.testing.assert_array_equal(found, np.sort(x, axis=1))
    found = compute("argsort_long_int32", size, x=x)[1]["y"]
    np.testing.assert_array_equal(found, np.argsort(x, axis=1, kind="stable"))


def special_floats(count: int) -> np.ndarray:
    random = np.random.default_rng(5)
    values = np.array([0.0, -0.0, np.inf, -np.inf, 1e-45, -1e-45, 3e38, -3e38, 1, -1], np.float32)
    return values[random.integers(0, len(values), count)]


def test_floats_keep_zeros_subnormals_and_infinities() -> None:
    x = special_floats(5000)
    x[::97] = np.nan
    found = compute("sort_long", "rows=1,cols=5000", x=x[None])[1]["y"][0]
    np.testing.assert_array_equal(found, np.sort(x))
    zeros = found[found == 0]
    signs = np.signbit(zeros)
    assert signs.any()
    # Zeros below zero are first.
    assert (signs == np.sort(signs)[::-1]).all()
    assert signs.sum() == np.signbit(x[x == 0]).sum()


def test_indices_of_equal_zeros_keep_their_order() -> None:
    x = special_floats(5000)
    found = compute("argsort_long", "rows=1,cols=5000", x=x[None])[1]["y"][0]
    np.testing.assert_array_equal(found, np.argsort(x, kind="stable"))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_all_numbers_of_a_half_type(dtype: str) -> None:
    bits = np.random.default_rng(6).permutation(2**16).astype(np.uint16)
    x = bits.view(element_type(dtype).numpy)
    size = f"rows=1,cols={len(x)}"
    found = compute("sort_long_half", size, dtype=dtype, x=x[None])[1]["y"][0].astype(np.float32)
    np.testing.assert_array_equal(found, np.sort(x.astype(np.float32)))
    wide = np.where(np.isnan(x.astype(np.float32)), np.inf, x.astype(np.float32))
    finite = x[np.isfinite(wide)]
    size = f"rows=1,cols={len(finite)}"
    found = compute("argsort_long_half", size, dtype=dtype, x=finite[None])[1]["y"][0]
    np.testing.assert_array_equal(found, np.argsort(finite.astype(np.float32), kind="stable"))


@pytest.mark.parametrize("count", [1, 1024, 1025, 5000])
def test_unique(count: int) -> None:
    x = np.stack(list(orders(count).values()))
    found = compute("unique", f"rows={len(x)},cols={count}", x=x)[1]
    for row, elements in enumerate(x):
        values, lengths = np.unique(elements, return_counts=True)
        number = len(values)
        assert found["number"][row] == number
        np.testing.assert_array_equal(found["values"][row, :number], values)
        np.testing.assert_array_equal(found["lengths"][row, :number], lengths)
        assert not found["values"][row, number:].any()
        assert not found["lengths"][row, number:].any()


@pytest.mark.parametrize("count", [500, 501, 16384, 16385, 40000])
def test_the_largest_of_long_rows_with_ties(count: int) -> None:
    random = np.random.default_rng(7)
    x = np.stack(
        [
            np.zeros(count),
            np.where(np.arange(count) % 2, 0.0, -0.0),
            np.arange(count),
            -np.arange(count),
            random.integers(0, 50, count),
            np.where(random.random(count) < 0.01, np.inf, -np.inf),
        ]
    ).astype(np.float32)
    found = compute("top_k_long", f"rows={len(x)},cols={count}", x=x)[1]
    order = np.argsort(-x, axis=1, kind="stable")[:, :500]
    np.testing.assert_array_equal(found["indices"], order)
    np.testing.assert_array_equal(found["y"], np.take_along_axis(x, order, axis=1))


@pytest.mark.parametrize("count", [1, 65535, 65536, 65537, 200001])
def test_cumulative_sums_of_long_rows_of_whole_numbers(count: int) -> None:
    """Sums below 2^24 are exact in float32, in any order."""
    x = np.random.default_rng(8).integers(-9, 10, (2, count)).astype(np.float32)
    found = compute("cumsum_long", f"rows=2,cols={count}", x=x)[1]["y"]
    np.testing.assert_array_equal(found, np.cumsum(x, axis=1))


def test_segments_that_are_empty_long_or_single() -> None:
    count = 5000
    cuts = [0, 0, 1, 1, 1, 3, 2048, 2049, 4999, 5000, 5000]
    x = np.random.default_rng(9).integers(-30, 30, (2, count)).astype(np.int32)
    offsets = np.array([cuts, [0, *[5000] * 10]], np.uint32)
    size = f"rows=2,cols={count},segments=10"
    found = compute("segmented_sort_int32", size, x=x, offsets=offsets)[1]["y"]
    expected = np.stack([x[0], np.sort(x[1])])
    for first, end in itertools.pairwise(cuts):
        expected[0, first:end].sort()
    np.testing.assert_array_equal(found, expected)


def test_sums_of_blocks_are_not_replaced_while_they_are_read() -> None:
    """Two rows whose last quad of blocks is partial, which all threads of a threadgroup read."""
    entry = LIBRARY.entry("cumsum_long")
    builds = Builds(_core.open("cpu"), entry.kernel(), entry.task, tunables={"BLOCK": 4096})
    report = verify_checked(builds, sizes=["rows=2,cols=24577"])
    assert report.passed, report.findings
